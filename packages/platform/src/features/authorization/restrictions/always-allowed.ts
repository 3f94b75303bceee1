// Permissions of every valid key, whatever its restrictions: own identity, own permissions, and discovery.

import type { PlatformNames } from "@postern/api/platform-names";
import type { PolicyRule } from "@postern/apiserver/authorization/rbac/policy-rule";
import type { PlatformRequest } from "../request/platform-request.ts";

/** Exact, or everything below where a star is the last step. */
export const ALWAYS_ALLOWED_PATHS: readonly string[] = [
  "/api",
  "/api/*",
  "/apis",
  "/apis/*",
  "/healthz",
  "/healthz/*",
  "/livez",
  "/livez/*",
  "/openapi",
  "/openapi/*",
  "/readyz",
  "/readyz/*",
  "/version",
  "/version/",
];

const EXACT: ReadonlySet<string> = new Set(ALWAYS_ALLOWED_PATHS);
const BELOW = ALWAYS_ALLOWED_PATHS.filter((path) => path.endsWith("/*")).map((path) => path.slice(0, -1));

type OpenResource = readonly [group: string, resource: string];

const SELF_REVIEWS: readonly OpenResource[] = [
  ["authentication.k8s.io", "selfsubjectreviews"],
  ["authorization.k8s.io", "selfsubjectaccessreviews"],
  ["authorization.k8s.io", "selfsubjectrulesreviews"],
];

/** Clients of the platform ask its own group for one of the reviews that Kubernetes has. */
const OWN_RESOURCES: readonly string[] = ["selves", "selfsubjectaccessreviews"];

/** A list without items that kubectl reads before it creates what can only be created. */
const OPEN_LIST: OpenResource = ["apiextensions.k8s.io", "customresourcedefinitions"];

export function isAlwaysAllowed(
  { target, inner }: PlatformRequest,
  { managementGroup }: Pick<PlatformNames, "managementGroup">,
): boolean {
  if (target !== "Management") return false;
  if (!inner.isResourceRequest) {
    if (inner.verb !== "get" && inner.verb !== "head") return false;
    return EXACT.has(inner.path) || BELOW.some((prefix) => inner.path.startsWith(prefix));
  }
  const { verb, apiGroup, resource, subresource, namespace } = inner;
  if (verb === "list") return apiGroup === OPEN_LIST[0] && resource === OPEN_LIST[1] && subresource === "";
  if (verb !== "create" || subresource !== "" || namespace !== "") return false;
  if (apiGroup === managementGroup) return OWN_RESOURCES.includes(resource);
  return SELF_REVIEWS.some(([group, review]) => group === apiGroup && review === resource);
}

/** The same as rules of a role. */
export function alwaysAllowedRules({ managementGroup }: Pick<PlatformNames, "managementGroup">): readonly PolicyRule[] {
  const created = [...OWN_RESOURCES.map((resource): OpenResource => [managementGroup, resource]), ...SELF_REVIEWS];
  const opened = (verb: string, [group, resource]: OpenResource): PolicyRule => ({
    verbs: [verb],
    apiGroups: [group],
    resources: [resource],
    resourceNames: [],
    nonResourceURLs: [],
  });
  return [
    { verbs: ["get", "head"], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: ALWAYS_ALLOWED_PATHS },
    ...created.map((resource) => opened("create", resource)),
    opened("list", OPEN_LIST),
  ];
}
