// The routes of the console. Every page but the first is loaded when it is first needed.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import type { FunctionComponent } from "react";
import { Loading } from "./components/loading.tsx";
import { ErrorNotice } from "./components/notice.tsx";
import { PageHead } from "./components/page-head.tsx";
import { HomePage } from "./pages/home/home-page.tsx";
import { Shell } from "./pages/shell.tsx";
import { t } from "./texts/text.tsx";

const root = createRootRoute({ component: Shell });

/** Pages that use the query of the address parse it themselves. */
const searchTexts = (search: Record<string, unknown>): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(search).map(([name, value]) => [name, String(value)]));

// A file that is missing reloads the page once, since a newer build has other files; then the error is shown.
const keyViews = () => import("./pages/keys/key-views.tsx");
const directoryViews = () => import("./pages/directory-views.tsx");
const trustViews = () => import("./pages/trust/trust-views.tsx");
const clusterViews = () => import("./pages/clusters/cluster-views.tsx");
const requestViews = () => import("./pages/requests/request-views.ts");
const generatorViews = () => import("./pages/generators/generator-views.ts");
const hostViews = () => import("./pages/hosts/host-views.ts");
const forms = () => import("./pages/form-pages.ts");

/** A file with pages, by their names. */
type Views<Page extends string> = () => Promise<{ readonly [page in Page]: FunctionComponent }>;

const page = <Path extends string, Page extends string>(path: Path, views: Views<Page>, name: Page) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(views, name) });

/** A page that uses the query of the address. */
const searched = <Path extends string, Page extends string>(path: Path, views: Views<Page>, name: Page) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: searchTexts,
    component: lazyRouteComponent(views, name),
  });

const routes = [
  createRoute({ getParentRoute: () => root, path: "/", component: HomePage }),
  searched("/keys", keyViews, "KeysPage"),
  page("/keys/$name", keyViews, "KeyPage"),
  searched("/clusters", clusterViews, "ClustersPage"),
  page("/clusters/$project/$name", clusterViews, "ClusterPage"),
  searched("/kubeconfig-generators", generatorViews, "GeneratorsPage"),
  page("/kubeconfig-generators/$project/$name", generatorViews, "GeneratorPage"),
  page("/host-clusters", hostViews, "HostsPage"),
  page("/host-clusters/$name", hostViews, "HostPage"),
  // The server itself serves /profile/access-keys, which other clients link to.
  page("/profile", () => import("./pages/profile-page.tsx"), "ProfilePage"),
  page("/projects", directoryViews, "ProjectsPage"),
  page("/projects/$name", directoryViews, "ProjectPage"),
  page("/users", directoryViews, "UsersPage"),
  page("/users/$name", directoryViews, "UserPage"),
  page("/teams", directoryViews, "TeamsPage"),
  page("/teams/$name", directoryViews, "TeamPage"),
  page("/roles", directoryViews, "RolesPage"),
  page("/roles/$name", directoryViews, "RolePage"),
  searched("/access", directoryViews, "AccessPage"),
  searched("/access-requests", requestViews, "RequestsPage"),
  page("/access-requests/$name", requestViews, "RequestPage"),
  page("/trust", trustViews, "TrustPage"),
  page("/trust/$project/$name", trustViews, "TrustRulePage"),
  page("/identity-providers", trustViews, "ProvidersPage"),
  searched("/audit", trustViews, "AuditPage"),
  searched("/recordings", () => import("./pages/recordings/recordings-page.tsx"), "RecordingsPage"),
  page("/leak-reports", trustViews, "LeakReportsPage"),
  page("/about", () => import("./pages/about-page.tsx"), "AboutPage"),
  searched("/new/key", forms, "NewKeyPage"),
  searched("/new/access-request", forms, "AskPage"),
  page("/keys/$name/edit", forms, "EditKeyPage"),
  page("/new/virtual-cluster", forms, "NewVirtualClusterPage"),
  page("/clusters/$project/$name/edit", forms, "EditVirtualClusterPage"),
  page("/new/kubeconfig-generator", forms, "NewGeneratorPage"),
  page("/kubeconfig-generators/$project/$name/edit", forms, "EditGeneratorPage"),
  page("/new/project", forms, "NewProjectPage"),
  page("/projects/$name/edit", forms, "EditProjectPage"),
  page("/new/user", forms, "NewUserPage"),
  page("/users/$name/edit", forms, "EditUserPage"),
  page("/new/team", forms, "NewTeamPage"),
  page("/teams/$name/edit", forms, "EditTeamPage"),
  page("/new/host-cluster", forms, "NewHostPage"),
  page("/host-clusters/$name/edit", forms, "EditHostPage"),
  page("/new/role", forms, "NewRolePage"),
  page("/roles/$name/edit", forms, "EditRolePage"),
  page("/new/trust-rule", forms, "NewTrustRulePage"),
  page("/trust/$project/$name/edit", forms, "EditTrustRulePage"),
  page("/new/identity-provider", forms, "NewProviderPage"),
  page("/identity-providers/$name/edit", forms, "EditProviderPage"),
];

export const router = createRouter({
  routeTree: root.addChildren(routes),
  defaultPreload: "intent",
  defaultPendingComponent: () => <Loading />,
  // A browser keeps the failure of a file until the page is loaded again.
  defaultErrorComponent: ({ error }) => (
    <>
      <PageHead title={t("state.failed")} />
      <ErrorNotice error={error} onRetry={() => location.reload()} />
    </>
  ),
  defaultNotFoundComponent: () => <PageHead title={t("state.notFound")} lead={t("state.notFoundHint")} />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
