// The kind IdentityProvider.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { Issuers } from "../../../foundation/issuers/issuers.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { SignIn } from "../feature.ts";
import { identityProviders } from "./identity-providers/index.ts";

export const signInKinds = (
  { names, runtime: { clock } }: Foundation,
  needs: {
    readonly authorization: Authorization;
    readonly directory: Directory;
    readonly issuers: Issuers;
    readonly signIn: SignIn;
  },
): { readonly identityProviders: ResourceDefinition } => {
  const { authorization, directory, issuers, signIn } = needs;
  const { authorizer } = authorization;
  return {
    identityProviders: identityProviders({ names, authorizer, directory, signIn, issuerKeys: issuers.keys, clock }),
  };
};
