// AccessKeys: the administrators' view of the records of all access keys. It never shows a key.

import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { SealedFields, Strategy } from "@postern/apiserver/registry/strategy";
import { accessKeySchema } from "../../api/owned-access-key.ts";
import { accessKeyColumns } from "../owned-access-keys/columns.ts";
import { secretDelivery } from "../owned-access-keys/deliver-secret.ts";
import { ownedAccessKeyKind } from "../owned-access-keys/index.ts";
import {
  type PresentActivityDependencies,
  presentActivities,
  presentActivity,
} from "../owned-access-keys/present-activity.ts";
import { accessKeySealedFields } from "../owned-access-keys/sealed-fields.ts";
import { type AccessKeyStrategyDependencies, accessKeyStrategy } from "../owned-access-keys/strategy.ts";
import { type ScopeWarningDependencies, warnOfScope } from "../owned-access-keys/warn-of-scope.ts";

export const accessKeys = (
  dependencies: AccessKeyStrategyDependencies & ScopeWarningDependencies & PresentActivityDependencies,
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
    present: presentActivity(dependencies),
    presentList: presentActivities(dependencies),
    deliver: secretDelivery(dependencies),
    warnOfWrite: warnOfScope(dependencies),
  });

const neverRevealed = ({ paths, seal }: SealedFields): SealedFields => ({ paths, seal });
