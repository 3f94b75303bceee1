// Users: people and programs with access keys.

import type { Condition } from "@postern/api/conditions";
import { type User, userSchema } from "@postern/api/user";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { UNOWNED_STATUS } from "../../../../foundation/kinds/present-ready.ts";
import {
  type AccessKeysSubresourceDeps,
  accessKeysSubresource,
} from "../../../access-keys/kinds/access-keys-subresource.ts";
import { credentialsOfOwner } from "../../../access-keys/kinds/credentials-of-owner.ts";
import { type CredentialsDeps, credentialsSubresource } from "../../../access-keys/kinds/credentials-subresource.ts";
import { keysColumn, type ManagementBudgets } from "../../../budgets/management-budgets.ts";
import type { Directory } from "../../directory.ts";
import type { ProvisionedDeps } from "../provisioned.ts";
import { userStrategy } from "./strategy.ts";

export const users = (
  deps: ProvisionedDeps &
    Omit<AccessKeysSubresourceDeps, "owner"> &
    CredentialsDeps & {
      readonly visibility: ObjectVisibility;
      readonly budgets: Pick<ManagementBudgets, "ofOwner">;
    },
): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "User",
    plural: "users",
    namespaced: false,
    schema: userSchema,
    subresources: [
      accessKeysSubresource({ ...deps, owner: "user" }),
      credentialsSubresource((context) => credentialsOfOwner("user", context, deps), deps),
    ],
    selectableFields: [".spec.subject", ".spec.username", ".spec.email"],
    columns: [
      {
        name: "Kind",
        type: "string",
        description: "Person or Bot.",
        // The store holds no other kind under this resource.
        value: (user) => (user as User).spec?.kind ?? "Person",
      },
      { name: "Display Name", type: "string", description: "Display name.", value: ".spec.displayName" },
      { name: "Email", type: "string", description: "E-mail address.", value: ".spec.email" },
      {
        name: "Locked",
        type: "boolean",
        description: "Whether the user is locked.",
        value: (user) => (user as User).spec?.disabled ?? false,
      },
      keysColumn("user", deps.budgets),
      ageColumn,
    ],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: userStrategy(deps) as Strategy,
    sealed: UNOWNED_STATUS,
    visibility: deps.visibility,
    present: presentTeams(deps.directory),
  });

/** The time of the last change is not recorded. */
const readyCondition = (user: KubeObject): Condition =>
  // The store holds no other kind under this resource.
  (user as User).spec?.disabled === true
    ? { type: "Ready", status: "False", reason: "Disabled", message: "Every key of the user is refused" }
    : { type: "Ready", status: "True", reason: "Enabled", message: "" };

/** For the `present` of the resource. */
const presentTeams =
  (directory: Directory) =>
  (object: CachedObject): CachedObject => {
    const user = object.decode();
    const teams = directory.teamsOf(user.metadata.name ?? "").map(({ name }) => name);
    const status = { ...(teams.length === 0 ? {} : { teams }), conditions: [readyCondition(user)] };
    return CachedObject.fromObject(object.key, { ...user, status });
  };
