// The routes of the console. Every page but the first is loaded when it is first needed.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
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

/** A page with a form. Addresses of new objects have a first step of their own, so that no object's name can equal one. */
const form = <Path extends string>(path: Path, page: keyof typeof import("./pages/form-pages.ts")) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(forms, page) });

const routes = [
  createRoute({ getParentRoute: () => root, path: "/", component: HomePage }),
  createRoute({
    getParentRoute: () => root,
    path: "/keys",
    validateSearch: searchTexts,
    component: lazyRouteComponent(keyViews, "KeysPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/keys/$name",
    component: lazyRouteComponent(keyViews, "KeyPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/clusters",
    validateSearch: searchTexts,
    component: lazyRouteComponent(clusterViews, "ClustersPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/clusters/$project/$name",
    component: lazyRouteComponent(clusterViews, "ClusterPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/kubeconfig-generators",
    validateSearch: searchTexts,
    component: lazyRouteComponent(generatorViews, "GeneratorsPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/kubeconfig-generators/$project/$name",
    component: lazyRouteComponent(generatorViews, "GeneratorPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/host-clusters",
    component: lazyRouteComponent(hostViews, "HostsPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/host-clusters/$name",
    component: lazyRouteComponent(hostViews, "HostPage"),
  }),
  // The server itself serves /profile/access-keys, which other clients link to.
  createRoute({
    getParentRoute: () => root,
    path: "/profile",
    component: lazyRouteComponent(() => import("./pages/profile-page.tsx"), "ProfilePage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/projects",
    component: lazyRouteComponent(directoryViews, "ProjectsPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/projects/$name",
    component: lazyRouteComponent(directoryViews, "ProjectPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/users",
    component: lazyRouteComponent(directoryViews, "UsersPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/users/$name",
    component: lazyRouteComponent(directoryViews, "UserPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/teams",
    component: lazyRouteComponent(directoryViews, "TeamsPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/teams/$name",
    component: lazyRouteComponent(directoryViews, "TeamPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/roles",
    component: lazyRouteComponent(directoryViews, "RolesPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/roles/$name",
    component: lazyRouteComponent(directoryViews, "RolePage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/access",
    validateSearch: searchTexts,
    component: lazyRouteComponent(directoryViews, "AccessPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/access-requests",
    validateSearch: searchTexts,
    component: lazyRouteComponent(requestViews, "RequestsPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/access-requests/$name",
    component: lazyRouteComponent(requestViews, "RequestPage"),
  }),
  createRoute({ getParentRoute: () => root, path: "/trust", component: lazyRouteComponent(trustViews, "TrustPage") }),
  createRoute({
    getParentRoute: () => root,
    path: "/trust/$project/$name",
    component: lazyRouteComponent(trustViews, "TrustRulePage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/identity-providers",
    component: lazyRouteComponent(trustViews, "ProvidersPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/audit",
    validateSearch: searchTexts,
    component: lazyRouteComponent(trustViews, "AuditPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/leak-reports",
    component: lazyRouteComponent(trustViews, "LeakReportsPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/about",
    component: lazyRouteComponent(() => import("./pages/about-page.tsx"), "AboutPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/new/key",
    validateSearch: searchTexts,
    component: lazyRouteComponent(forms, "NewKeyPage"),
  }),
  createRoute({
    getParentRoute: () => root,
    path: "/new/access-request",
    validateSearch: searchTexts,
    component: lazyRouteComponent(forms, "AskPage"),
  }),
  form("/keys/$name/edit", "EditKeyPage"),
  form("/new/virtual-cluster", "NewVirtualClusterPage"),
  form("/clusters/$project/$name/edit", "EditVirtualClusterPage"),
  form("/new/kubeconfig-generator", "NewGeneratorPage"),
  form("/kubeconfig-generators/$project/$name/edit", "EditGeneratorPage"),
  form("/new/project", "NewProjectPage"),
  form("/projects/$name/edit", "EditProjectPage"),
  form("/new/user", "NewUserPage"),
  form("/users/$name/edit", "EditUserPage"),
  form("/new/team", "NewTeamPage"),
  form("/teams/$name/edit", "EditTeamPage"),
  form("/new/host-cluster", "NewHostPage"),
  form("/host-clusters/$name/edit", "EditHostPage"),
  form("/new/role", "NewRolePage"),
  form("/roles/$name/edit", "EditRolePage"),
  form("/new/trust-rule", "NewTrustRulePage"),
  form("/trust/$project/$name/edit", "EditTrustRulePage"),
  form("/new/identity-provider", "NewProviderPage"),
  form("/identity-providers/$name/edit", "EditProviderPage"),
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
