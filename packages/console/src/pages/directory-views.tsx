// The pages of projects, users, teams and roles, loaded together.

export { TeamPage } from "./people/team-page.tsx";
export { TeamsPage } from "./people/teams-page.tsx";
export { UserPage } from "./people/user-page.tsx";
export { UsersPage } from "./people/users-page.tsx";
export { ProjectPage } from "./projects/project-page.tsx";
export { ProjectsPage } from "./projects/projects-page.tsx";
export { AccessPage } from "./rights/access-page.tsx";
export { RolePage } from "./rights/role-page.tsx";
export { RolesPage } from "./rights/roles-page.tsx";
