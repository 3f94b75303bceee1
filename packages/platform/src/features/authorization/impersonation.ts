// Whether the caller may impersonate another owner: checked wherever a permission is granted to another owner.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { mayDo } from "../../foundation/kinds/may-do.ts";
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
  const target =
    kind === "subject"
      ? { apiGroup: "", resource: "users", name }
      : { apiGroup: names.managementGroup, resource: `${kind}s`, name };
  return mayDo(context, { verb: "impersonate", ...target }, authorizer);
}

export const mayImpersonateGroup = (group: string, context: RequestContext, authorizer: Authorizer): Promise<boolean> =>
  mayDo(context, { verb: "impersonate", apiGroup: "", resource: "groups", name: group }, authorizer);
