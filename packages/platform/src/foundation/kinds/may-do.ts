// Whether a caller may do something besides what its request asks for, such as to write the Secret that an object names.

import type { AuthorizationAttributes, Authorizer } from "@postern/apiserver/authorization/authorizer";

/** Absent members are empty: no subresource, no namespace, no single object. */
export type ResourceAction = Pick<AuthorizationAttributes, "verb" | "apiGroup" | "resource"> &
  Partial<Pick<AuthorizationAttributes, "subresource" | "namespace" | "name">>;

type Caller = Pick<AuthorizationAttributes, "user" | "credential">;

export const attributesOfAction = (
  { user, credential }: Caller,
  { verb, apiGroup, resource, subresource = "", namespace = "", name = "" }: ResourceAction,
): AuthorizationAttributes => ({
  user,
  credential,
  verb,
  isResourceRequest: true,
  apiGroup,
  apiVersion: "v1",
  resource,
  subresource,
  namespace,
  name,
  path: "",
});

export async function mayDo(caller: Caller, action: ResourceAction, authorizer: Authorizer): Promise<boolean> {
  const { verdict } = await authorizer.authorize(attributesOfAction(caller, action));
  return verdict === "allow";
}
