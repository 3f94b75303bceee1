// The pages of projects, users, teams and roles, loaded together.

export { AccessPage } from "./access/access-page.tsx";
export { RolePage } from "./access/role-page.tsx";
export { RolesPage } from "./access/roles-page.tsx";
export { TeamPage } from "./people/team-page.tsx";
export { TeamsPage } from "./people/teams-page.tsx";
export { UserPage } from "./people/user-page.tsx";
export { UsersPage } from "./people/users-page.tsx";
export { ProjectPage } from "./projects/project-page.tsx";
export { ProjectsPage } from "./projects/projects-page.tsx";
