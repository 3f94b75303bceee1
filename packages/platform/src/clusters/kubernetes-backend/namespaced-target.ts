// Lets requests through to one namespace of a cluster: what a space is.

import { forbiddenPathError } from "@postern/apimachinery/meta/api-error";
import type { RequestInfo } from "@postern/apiserver/request/request-info";
import type { ReverseProxy } from "../../proxy/reverse-proxy.ts";

/** What clients need to find their way: discovery, OpenAPI, version and health. Read alone. */
const OPEN_PATHS =
  /^\/(?:|api|api\/v1|apis|apis\/[^/]+|apis\/[^/]+\/[^/]+|version|healthz|livez|readyz|openapi\/.+)\/?$/;
const READ_METHODS: readonly string[] = ["GET", "HEAD"];

/** They tell callers about themselves. */
const SELF_REVIEWS: readonly string[] = ["selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"];
const REVIEW_GROUPS: readonly string[] = ["authorization.k8s.io", "authentication.k8s.io"];

/** The same proxy, closed to everything outside the namespace: those requests are answered 403. */
export function namespacedProxy(proxy: ReverseProxy["proxy"], namespace: string): ReverseProxy["proxy"] {
  return async (context, user) => {
    if (!isWithin(context.info, context.request.method, namespace)) {
      throw forbiddenPathError(`this space has only namespace ${JSON.stringify(namespace)}`);
    }
    return await proxy(context, user);
  };
}

/**
 * The namespace itself can be read, not changed: its labels are what policies of the cluster go by. Lists across namespaces, and
 * what has no namespace, are the cluster's.
 */
export function isWithin(info: RequestInfo, method: string, namespace: string): boolean {
  const { isResourceRequest, path, verb, apiGroup, resource, subresource, name } = info;
  if (!isResourceRequest) return READ_METHODS.includes(method) && OPEN_PATHS.test(path);
  if (info.namespace !== "" && info.namespace !== namespace) return false;
  if (resource === "namespaces") return apiGroup === "" && verb === "get" && name === namespace && subresource === "";
  if (info.namespace === namespace) return true;
  return verb === "create" && REVIEW_GROUPS.includes(apiGroup) && SELF_REVIEWS.includes(resource);
}
