// Users: people and programs that may have access keys.

import { ageColumn } from "@postern/apiserver/builtin/builtin-resource";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { type User, userSchema } from "../../api/user.ts";
import { type AccessKeysSubresourceOptions, accessKeysSubresource } from "../access-keys-subresource.ts";
import { credentialsOfOwner } from "../credentials-of.ts";
import { type CredentialsDependencies, credentialsSubresource } from "../credentials-subresource.ts";
import { presentTeams } from "./present-teams.ts";
import { type UserStrategyDependencies, userStrategy } from "./strategy.ts";

export type UsersDependencies = UserStrategyDependencies &
  Omit<AccessKeysSubresourceOptions, "owner"> &
  CredentialsDependencies & {
    readonly visibility: ObjectVisibility;
  };

export const users = (dependencies: UsersDependencies): ResourceDefinition =>
  defineResource({
    group: dependencies.names.managementGroup,
    version: "v1",
    kind: "User",
    plural: "users",
    singular: "user",
    namespaced: false,
    schema: userSchema,
    subresources: [
      accessKeysSubresource({ ...dependencies, owner: "user" }),
      credentialsSubresource((context) => credentialsOfOwner("user", context, dependencies), dependencies),
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
      ageColumn,
    ],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: userStrategy(dependencies) as Strategy,
    // Nothing is hidden; the status is nobody's to own.
    sealed: { paths: [["status"]], seal: (object, previous) => ({ object, sealed: previous }) },
    visibility: dependencies.visibility,
    present: presentTeams(dependencies.directory),
  });
