// Whether the caller may impersonate another owner: checked wherever a permission is granted to another owner.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";

type Dependencies = { readonly authorizer: Authorizer; readonly names: PlatformNames };

/**
 * Verb `impersonate` on the user or team of the management API; for a subject, on the core resource `users`, as in Kubernetes.
 * The core resource does not do for users, since impersonating one there brings none of the user's groups along.
 */
export function mayImpersonate(
  { kind, name }: AccessKeyOwner,
  context: RequestContext,
  { authorizer, names }: Dependencies,
): Promise<boolean> {
  if (kind === "subject") return mayDo(context, authorizer, { apiGroup: "", resource: "users", name });
  return mayDo(context, authorizer, { apiGroup: names.managementGroup, resource: `${kind}s`, name });
}

export const mayImpersonateGroup = (group: string, context: RequestContext, authorizer: Authorizer): Promise<boolean> =>
  mayDo(context, authorizer, { apiGroup: "", resource: "groups", name: group });

async function mayDo(
  { user, credential }: RequestContext,
  authorizer: Authorizer,
  target: { readonly apiGroup: string; readonly resource: string; readonly name: string },
): Promise<boolean> {
  const { verdict } = await authorizer.authorize({
    user,
    credential,
    verb: "impersonate",
    isResourceRequest: true,
    apiVersion: "v1",
    subresource: "",
    namespace: "",
    path: "",
    ...target,
  });
  return verdict === "allow";
}
