// The page of the documentation that explains a page of the console, or an error. The server serves it at /docs.

import { isApiError } from "@postern/apimachinery/meta/api-error";

/** By the beginning of the path of a page; the longest that fits is taken. */
const PAGES: readonly (readonly [path: string, address: string])[] = [
  ["/", "/docs/guides/console"],
  ["/keys", "/docs/guides/access-keys"],
  ["/new/key", "/docs/guides/access-keys#create-a-key"],
  ["/clusters", "/docs/guides/kubeconfigs"],
  ["/new/virtual-cluster", "/docs/reference/kinds/virtualclusterinstance"],
  ["/kubeconfig-generators", "/docs/guides/kubeconfig-generators"],
  ["/new/kubeconfig-generator", "/docs/guides/kubeconfig-generators"],
  ["/host-clusters", "/docs/guides/connected-clusters"],
  ["/new/host-cluster", "/docs/guides/connected-clusters"],
  ["/projects", "/docs/guides/projects"],
  ["/new/project", "/docs/guides/projects#a-project"],
  ["/users", "/docs/guides/sign-in"],
  ["/new/user", "/docs/reference/kinds/user"],
  ["/teams", "/docs/guides/projects#who-may-do-what"],
  ["/new/team", "/docs/reference/kinds/team"],
  ["/roles", "/docs/reference/roles"],
  ["/new/role", "/docs/reference/roles"],
  ["/access", "/docs/guides/credential-lifecycle#explain-what-a-key-may-do"],
  ["/access-requests", "/docs/guides/access-on-request"],
  ["/new/access-request", "/docs/guides/access-on-request#ask"],
  ["/trust", "/docs/guides/ci"],
  ["/new/trust-rule", "/docs/guides/ci#fields"],
  ["/identity-providers", "/docs/guides/identity-providers"],
  ["/new/identity-provider", "/docs/guides/sign-in#set-up-a-provider"],
  ["/leak-reports", "/docs/guides/leaked-key"],
  ["/recordings", "/docs/guides/session-recordings#see-recordings"],
  ["/audit", "/docs/guides/credential-lifecycle#search-the-audit-log"],
  ["/profile", "/docs/guides/sign-in#when-a-session-becomes-invalid"],
  ["/about", "/docs/operations/running"],
];

const isBelow = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`);

/** The address of the guide for a page of the console. */
export function helpFor(path: string): string {
  const fitting = PAGES.filter(([root]) => root === "/" || isBelow(path, root));
  const [, address] = fitting.reduce((longest, each) => (each[0].length > longest[0].length ? each : longest));
  return address;
}

/** The row of the reference of errors that explains one. Undefined for errors that the server did not answer. */
export const explanationOf = (error: unknown): string | undefined =>
  isApiError(error) && error.reason !== ""
    ? `/docs/reference/errors#errors-of-the-api-${error.reason.toLowerCase()}`
    : undefined;
