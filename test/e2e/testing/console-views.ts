// An address for each route of the console, and the name of its picture.

import type { Page } from "playwright-core";

export type View = { readonly at: string; readonly picture: string };

/** The objects that views of one object show. */
export type ShownObjects = {
  readonly key: string;
  /** `<project>/<name>` */
  readonly cluster: string;
  readonly host: string;
  readonly project: string;
  readonly user: string;
  readonly team: string;
  readonly role: string;
  /** A role that the server has not made itself, and that can be edited. */
  readonly ownRole: string;
  readonly request: string;
  /** `<project>/<name>`; `-` in place of the project for a rule of the whole platform. */
  readonly rule: string;
  readonly provider: string;
  /** `<project>/<name>` */
  readonly generator: string;
};

/** By route, as the router names it. */
export const viewsOf = (of: ShownObjects): { readonly [route: string]: View } => ({
  "/": { at: "/", picture: "overview" },
  "/keys": { at: "/keys", picture: "keys" },
  "/keys/$name": { at: `/keys/${of.key}`, picture: "key" },
  "/new/key": { at: "/new/key", picture: "new-key" },
  "/keys/$name/edit": { at: `/keys/${of.key}/edit`, picture: "key-edit" },
  "/clusters": { at: "/clusters", picture: "clusters" },
  "/clusters/$project/$name": { at: `/clusters/${of.cluster}`, picture: "cluster" },
  "/clusters/$project/$name/edit": { at: `/clusters/${of.cluster}/edit`, picture: "cluster-edit" },
  "/new/virtual-cluster": { at: "/new/virtual-cluster", picture: "new-virtual-cluster" },
  "/kubeconfig-generators": { at: "/kubeconfig-generators", picture: "kubeconfig-generators" },
  "/kubeconfig-generators/$project/$name": {
    at: `/kubeconfig-generators/${of.generator}`,
    picture: "kubeconfig-generator",
  },
  "/kubeconfig-generators/$project/$name/edit": {
    at: `/kubeconfig-generators/${of.generator}/edit`,
    picture: "kubeconfig-generator-edit",
  },
  "/new/kubeconfig-generator": { at: "/new/kubeconfig-generator", picture: "new-kubeconfig-generator" },
  "/host-clusters": { at: "/host-clusters", picture: "host-clusters" },
  "/host-clusters/$name": { at: `/host-clusters/${of.host}`, picture: "host-cluster" },
  "/host-clusters/$name/edit": { at: `/host-clusters/${of.host}/edit`, picture: "host-cluster-edit" },
  "/new/host-cluster": { at: "/new/host-cluster", picture: "new-host-cluster" },
  "/projects": { at: "/projects", picture: "projects" },
  "/projects/$name": { at: `/projects/${of.project}`, picture: "project" },
  "/projects/$name/edit": { at: `/projects/${of.project}/edit`, picture: "project-edit" },
  "/new/project": { at: "/new/project", picture: "new-project" },
  "/users": { at: "/users", picture: "users" },
  "/users/$name": { at: `/users/${of.user}`, picture: "user" },
  "/users/$name/edit": { at: `/users/${of.user}/edit`, picture: "user-edit" },
  "/new/user": { at: "/new/user", picture: "new-user" },
  "/teams": { at: "/teams", picture: "teams" },
  "/teams/$name": { at: `/teams/${of.team}`, picture: "team" },
  "/teams/$name/edit": { at: `/teams/${of.team}/edit`, picture: "team-edit" },
  "/new/team": { at: "/new/team", picture: "new-team" },
  "/roles": { at: "/roles", picture: "roles" },
  "/roles/$name": { at: `/roles/${of.role}`, picture: "role" },
  "/roles/$name/edit": { at: `/roles/${of.ownRole}/edit`, picture: "role-edit" },
  "/new/role": { at: "/new/role", picture: "new-role" },
  "/access": { at: "/access", picture: "access" },
  "/access-requests": { at: "/access-requests", picture: "access-requests" },
  "/access-requests/$name": { at: `/access-requests/${of.request}`, picture: "access-request" },
  "/new/access-request": { at: "/new/access-request", picture: "new-access-request" },
  "/trust": { at: "/trust", picture: "trust" },
  "/trust/$project/$name": { at: `/trust/${of.rule}`, picture: "trust-rule" },
  "/trust/$project/$name/edit": { at: `/trust/${of.rule}/edit`, picture: "trust-rule-edit" },
  "/new/trust-rule": { at: "/new/trust-rule", picture: "new-trust-rule" },
  "/identity-providers": { at: "/identity-providers", picture: "identity-providers" },
  "/identity-providers/$name/edit": {
    at: `/identity-providers/${of.provider}/edit`,
    picture: "identity-provider-edit",
  },
  "/new/identity-provider": { at: "/new/identity-provider", picture: "new-identity-provider" },
  "/leak-reports": { at: "/leak-reports", picture: "leak-reports" },
  "/audit": { at: "/audit", picture: "audit" },
  "/recordings": { at: "/recordings", picture: "recordings" },
  "/profile": { at: "/profile", picture: "profile" },
  "/about": { at: "/about", picture: "about" },
});

/** The routes of the console that a page runs, sorted. */
export async function routesIn(page: Page): Promise<readonly string[]> {
  const routes = await page.evaluate<readonly string[]>(
    "Object.values(__TSR_ROUTER__.routesById).map((route) => route.fullPath).filter((path) => path !== '')",
  );
  return [...new Set(routes)].sort();
}

/** Pictures that the guide and the README begin with, in light colours. */
export const PNG: ReadonlySet<string> = new Set(["overview", "key", "new-key"]);

/** The file below docs/images/console. */
export const pictureOf = ({ picture }: View, theme: "light" | "dark"): string =>
  theme === "light" && PNG.has(picture) ? `${picture}.png` : `${picture}-${theme}.webp`;
