// The pages with forms, loaded together: they share the code that writes manifests.

export { EditRolePage, NewRolePage } from "./access/role-form.tsx";
export { EditVirtualClusterPage, NewVirtualClusterPage } from "./clusters/cluster-form.tsx";
export { EditGeneratorPage, NewGeneratorPage } from "./generators/generator-form.tsx";
export { EditHostPage, NewHostPage } from "./hosts/host-form.tsx";
export { EditKeyPage } from "./keys/form/edit-key-page.tsx";
export { NewKeyPage } from "./keys/form/new-key-page.tsx";
export { EditTeamPage, NewTeamPage } from "./people/team-form.tsx";
export { EditUserPage, NewUserPage } from "./people/user-form.tsx";
export { EditProjectPage, NewProjectPage } from "./projects/project-form.tsx";
export { EditProviderPage, NewProviderPage } from "./provider-form.tsx";
export { AskPage } from "./requests/ask-page.tsx";
export { EditTrustRulePage, NewTrustRulePage } from "./trust/trust-rule-form.tsx";
