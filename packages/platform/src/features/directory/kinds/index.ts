// The kinds User, Team and Self.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { CredentialsDeps } from "../../access-keys/kinds/credentials-subresource.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Budgets } from "../../budgets/feature.ts";
import type { Directory } from "../directory.ts";
import { selves } from "./selves/index.ts";
import { teams } from "./teams/index.ts";
import { users } from "./users/index.ts";

export type DirectoryKindsNeeds = {
  readonly directory: Directory;
  readonly keys: AccessKeys;
  readonly authorization: Authorization;
  readonly budgets: Budgets;
  readonly credentials: CredentialsDeps;
};

export function directoryKinds(
  { configuration, names, lookup }: Foundation,
  { directory, keys, authorization, budgets, credentials }: DirectoryKindsNeeds,
): { readonly [kind in "users" | "teams" | "selves"]: ResourceDefinition } {
  const { authorizer, ruleResolver, rbac, visibilityOf } = authorization;
  const owners = {
    ...credentials,
    configuration,
    lookup,
    directory,
    authorizer,
    ruleResolver,
    rbac,
    budgets: budgets.management,
  };
  return {
    users: users({ ...owners, visibility: visibilityOf("users") }),
    teams: teams({ ...owners, visibility: visibilityOf("teams") }),
    selves: selves({
      names,
      keys: keys.index,
      directory,
      authorizer,
      secrets: keys.secrets,
      comparisons: keys.comparisons,
      requireAudience: configuration.accessKeys.requireAudience,
      identityOf: keys.authenticator.identityOf,
      accessKeys: credentials.accessKeys,
    }),
  };
}
