// AccessKeys: all access keys, for administrators. Their values are never shown.

import { accessKeySchema } from "@postern/api/owned-access-key";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { SealedFields, Strategy } from "@postern/apiserver/registry/strategy";
import { accessKeyColumns } from "../owned-access-keys/columns.ts";
import { ownedAccessKeyKind } from "../owned-access-keys/index.ts";
import { type PresentActivityDeps, presentActivities, presentActivity } from "../owned-access-keys/present-activity.ts";
import { type ScopeWarningDeps, scopeWarnings } from "../owned-access-keys/scope-warnings.ts";
import { accessKeySealedFields } from "../owned-access-keys/sealed-fields.ts";
import { secretDelivery } from "../owned-access-keys/secret-delivery.ts";
import { type AccessKeyStrategyDeps, accessKeyStrategy } from "../owned-access-keys/strategy.ts";
import type { WrapKeyDeps } from "../owned-access-keys/wrap-key.ts";

export const accessKeys = (
  deps: AccessKeyStrategyDeps & ScopeWarningDeps & PresentActivityDeps & WrapKeyDeps,
): ResourceDefinition =>
  defineResource({
    group: deps.names.storageGroup,
    version: "v1",
    kind: "AccessKey",
    plural: "accesskeys",
    shortNames: ["ak"],
    namespaced: false,
    storedAs: ownedAccessKeyKind(deps.names),
    schema: accessKeySchema(deps.names),
    columns: accessKeyColumns,
    selectableFields: [".spec.user", ".spec.team", ".spec.type"],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: accessKeyStrategy({
      ...deps,
      generatesKeys: false,
      kind: { group: deps.names.storageGroup, kind: "AccessKey" },
    }) as Strategy,
    sealed: neverRevealed(accessKeySealedFields(deps)),
    present: presentActivity(deps),
    presentList: presentActivities(deps),
    deliver: secretDelivery(deps),
    warnOfWrite: scopeWarnings(deps),
  });

const neverRevealed = ({ paths, seal }: SealedFields): SealedFields => ({ paths, seal });
