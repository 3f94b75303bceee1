// Whether a caller may write a Secret itself: the server writes credentials only where the caller could.

import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";

export async function mayWriteSecret(
  verb: "create" | "update",
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { user, credential }: Pick<RequestContext, "user" | "credential">,
  authorizer: Authorizer,
): Promise<boolean> {
  const { verdict } = await authorizer.authorize({
    user,
    credential,
    verb,
    isResourceRequest: true,
    apiGroup: "",
    apiVersion: "v1",
    resource: "secrets",
    subresource: "",
    namespace,
    // The path of a create names no object.
    name: verb === "create" ? "" : name,
    path: "",
  });
  return verdict === "allow";
}
