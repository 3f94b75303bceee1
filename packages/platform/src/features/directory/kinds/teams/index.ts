// Teams: groups of users that share permissions and access keys.

import { type Team, teamSchema } from "@postern/api/team";
import { indexPath } from "@postern/apimachinery/validation/field-error";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { presentReady, UNOWNED_STATUS, withoutShownReady } from "../../../../foundation/kinds/present-ready.ts";
import {
  type AccessKeysSubresourceDeps,
  accessKeysSubresource,
} from "../../../access-keys/kinds/access-keys-subresource.ts";
import { credentialsOfOwner } from "../../../access-keys/kinds/credentials-of-owner.ts";
import { type CredentialsDeps, credentialsSubresource } from "../../../access-keys/kinds/credentials-subresource.ts";
import { keysColumn, type ManagementBudgets } from "../../../budgets/management-budgets.ts";
import {
  type NameDeps,
  type NamedObject,
  namedOwner,
  namedUser,
  type UnknownNamesDeps,
  warningOfUnknownNames,
} from "../../unknown-names.ts";
import type { ProvisionedDeps } from "../provisioned.ts";
import { teamStrategy } from "./strategy.ts";

export type TeamsDeps = CredentialsDeps &
  NameDeps &
  UnknownNamesDeps &
  ProvisionedDeps &
  Omit<AccessKeysSubresourceDeps, "owner"> & {
    readonly visibility: ObjectVisibility;
    readonly budgets: Pick<ManagementBudgets, "ofOwner">;
  };

/** Why a team is Ready: nothing has to be done for it. */
const READY = "Known";

function strategy(deps: TeamsDeps): Strategy<Team> {
  const warning = warningOfUnknownNames(teamStrategy(deps), (team) => namedIn(team, deps), deps);
  return {
    ...warning,
    prepareForCreate: async (team, context) =>
      (await warning.prepareForCreate?.(withoutShownReady(team, READY), context)) ?? team,
    prepareForUpdate: async (team, old, context) =>
      (await warning.prepareForUpdate?.(withoutShownReady(team, READY), old, context)) ?? team,
  };
}

function* namedIn({ spec }: Team, deps: NameDeps): Generator<NamedObject> {
  yield* namedOwner(spec?.owner, deps);
  for (const [at, name] of (spec?.users ?? []).entries()) yield* namedUser(indexPath("spec.users", at), name, deps);
}

export const teams = (dependencies: TeamsDeps): ResourceDefinition =>
  defineResource({
    group: dependencies.names.managementGroup,
    version: "v1",
    kind: "Team",
    plural: "teams",
    namespaced: false,
    schema: teamSchema,
    subresources: [
      accessKeysSubresource({ ...dependencies, owner: "team" }),
      credentialsSubresource((context) => credentialsOfOwner("team", context, dependencies), dependencies),
    ],
    columns: [
      { name: "Display Name", type: "string", description: "Display name.", value: ".spec.displayName" },
      {
        name: "Users",
        type: "integer",
        description: "Number of users that are members by name.",
        // The store holds no other kind under this resource.
        value: (team) => (team as Team).spec?.users?.length ?? 0,
      },
      keysColumn("team", dependencies.budgets),
      ageColumn,
    ],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: strategy(dependencies) as Strategy,
    sealed: UNOWNED_STATUS,
    visibility: dependencies.visibility,
    present: presentReady(READY),
  });
