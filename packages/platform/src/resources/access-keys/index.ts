// AccessKeys: the administrators' view of the records of all access keys. It never shows a key.

import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import type { SealedFields, Strategy } from "@postern/apiserver/registry/strategy";
import { accessKeySchema } from "../../api/owned-access-key.ts";
import { toleratingActivity } from "../owned-access-keys/activity-tolerance.ts";
import { accessKeyColumns } from "../owned-access-keys/columns.ts";
import { ownedAccessKeyKind } from "../owned-access-keys/index.ts";
import { accessKeySealedFields } from "../owned-access-keys/sealed-fields.ts";
import { type AccessKeyStrategyDependencies, accessKeyStrategy } from "../owned-access-keys/strategy.ts";
import { type ScopeWarningDependencies, withScopeWarnings } from "../owned-access-keys/with-scope-warnings.ts";
import { withSecretDelivery } from "../owned-access-keys/with-secret-delivery.ts";
import { withinQuota } from "../owned-access-keys/within-quota.ts";

export const accessKeys = (
  dependencies: AccessKeyStrategyDependencies & ScopeWarningDependencies,
): ResourceDefinition =>
  defineResource({
    group: dependencies.names.storageGroup,
    version: "v1",
    kind: "AccessKey",
    plural: "accesskeys",
    singular: "accesskey",
    shortNames: ["ak"],
    namespaced: false,
    storedAs: ownedAccessKeyKind(dependencies.names),
    schema: accessKeySchema(dependencies.names),
    columns: accessKeyColumns,
    selectableFields: [".spec.user", ".spec.team", ".spec.type"],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: accessKeyStrategy({
      ...dependencies,
      generatesKeys: false,
      kind: { group: dependencies.names.storageGroup, kind: "AccessKey" },
    }) as Strategy,
    sealed: neverRevealed(accessKeySealedFields(dependencies)),
    // The registry decorates the generic store, which serves every verb.
    decorate: (storage) =>
      withinQuota(
        withScopeWarnings(
          withSecretDelivery(toleratingActivity(storage as Required<ResourceStorage>), dependencies),
          dependencies,
        ),
        dependencies.keyQuota,
      ),
  });

const neverRevealed = ({ paths, seal }: SealedFields): SealedFields => ({ paths, seal });
