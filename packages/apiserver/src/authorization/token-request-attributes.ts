// The attributes of a TokenRequest, for components that issue ServiceAccount tokens in another way.

import type { AuthorizationAttributes } from "./authorizer.ts";

/** The attributes of a request for the token of one account; with empty names, of any account. */
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
