// The kind IdentityProvider.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { Authorization } from "../../authorization/feature.ts";
import { identityProviders } from "./identity-providers/index.ts";

export const signInKinds = (
  { names }: Foundation,
  { authorization: { authorizer } }: { readonly authorization: Authorization },
): { readonly identityProviders: ResourceDefinition } => ({
  identityProviders: identityProviders({ names, authorizer }),
});
