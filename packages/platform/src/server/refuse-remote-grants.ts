// Keeps a narrowed key from giving away, in a cluster that others run, more than it opens there.

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import { tokenRequestAttributes } from "@postern/apiserver/authorization/token-request-attributes";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import { resolveRequestInfo } from "@postern/apiserver/request/request-info-resolver";

const GRANTS: ReadonlySet<string> = new Set(["roles", "rolebindings", "clusterroles", "clusterrolebindings"]);
const tokenOfAnyAccount = tokenRequestAttributes({ namespace: "", name: "" });
const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch"]);

/**
 * Such a cluster compares what is given away with all that the caller holds in it, and learns nothing of the key. So roles and bindings
 * are written there by keys alone that may have a credential of its own: those that open all of it. Throws ApiError 403 for others.
 */
export async function refuseRemoteGrants(context: RequestContext): Promise<void> {
  const { outerAuthorizer, request, user, credential } = context;
  const { apiGroup, resource, verb, name } = resolveRequestInfo(request.method, request.path, request.query);
  if (outerAuthorizer === undefined || apiGroup !== RBAC_GROUP) return;
  if (!GRANTS.has(resource) || !WRITES.has(verb)) return;
  const { verdict } = await outerAuthorizer.authorize({ user, credential, ...tokenOfAnyAccount });
  if (verdict === "allow") return;
  throw forbiddenRequestError(
    { group: apiGroup, resource },
    name,
    "the access key does not open all of this cluster, which cannot tell what of it is given away",
  );
}
