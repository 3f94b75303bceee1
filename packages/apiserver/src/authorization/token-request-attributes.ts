// What an authorizer is asked about the token of a ServiceAccount by those who give it away in another way than the request for it.

import type { AuthorizationAttributes } from "./authorizer.ts";

/** Of the request for the token of one account; with empty names, for that of any account there is. */
export const tokenRequestAttributes = ({
  namespace,
  name,
}: Pick<AuthorizationAttributes, "namespace" | "name">): Omit<AuthorizationAttributes, "user" | "credential"> => ({
  verb: "create",
  isResourceRequest: true,
  apiGroup: "",
  apiVersion: "v1",
  resource: "serviceaccounts",
  subresource: "token",
  namespace,
  name,
  path: "",
});
