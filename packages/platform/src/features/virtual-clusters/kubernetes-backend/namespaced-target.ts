// Limits a proxy to one namespace of a cluster, for a space.

import { forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import type { RequestInfo } from "@postern/apiserver/request/request-info";
import type { ReverseProxy } from "../../proxy/reverse-proxy.ts";

/** Paths that clients need: discovery, OpenAPI, version and health. Read-only. */
const OPEN_PATHS =
  /^\/(?:|api|api\/v1|apis|apis\/[^/]+|apis\/[^/]+\/[^/]+|version|healthz|livez|readyz|openapi\/.+)\/?$/;
const READ_METHODS: readonly string[] = ["GET", "HEAD"];

/** They only return information about the caller. */
const SELF_REVIEWS: readonly string[] = ["selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"];
const REVIEW_GROUPS: readonly string[] = ["authorization.k8s.io", "authentication.k8s.io"];

/** The same proxy; requests outside of the namespace get 403. */
export function namespacedProxy(proxy: ReverseProxy["proxy"], namespace: string): ReverseProxy["proxy"] {
  return (context, user, tap) => {
    if (!isPermissionSubset(context.info, context.request.method, namespace)) {
      throw forbiddenPathError(`this space has only namespace ${JSON.stringify(namespace)}`);
    }
    return proxy(context, user, tap);
  };
}

/**
 * The namespace itself is read-only: policies of the cluster use its labels. Lists across namespaces and
 * cluster-scoped resources are refused.
 */
export function isPermissionSubset(info: RequestInfo, method: string, namespace: string): boolean {
  const { isResourceRequest, path, verb, apiGroup, resource, subresource, name } = info;
  if (!isResourceRequest) return READ_METHODS.includes(method) && OPEN_PATHS.test(path);
  if (info.namespace !== "" && info.namespace !== namespace) return false;
  if (resource === "namespaces") return apiGroup === "" && verb === "get" && name === namespace && subresource === "";
  if (info.namespace === namespace) return true;
  return verb === "create" && REVIEW_GROUPS.includes(apiGroup) && SELF_REVIEWS.includes(resource);
}
