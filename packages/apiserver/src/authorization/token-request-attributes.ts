// The attributes of a TokenRequest, for components that issue ServiceAccount tokens in another way.

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
