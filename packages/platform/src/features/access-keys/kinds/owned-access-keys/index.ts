// OwnedAccessKeys: the access keys of the caller and of its teams.

import { accessKeySchema } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import type { GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { type CredentialsDeps, credentialsSubresource } from "../credentials-subresource.ts";
import { accessKeyColumns } from "./columns.ts";
import { ownKeysOnly } from "./own-keys-only.ts";
import { type PresentActivityDeps, presentActivities, presentActivity } from "./present-activity.ts";
import { type ScopeWarningDeps, scopeWarnings } from "./scope-warnings.ts";
import { accessKeySealedFields } from "./sealed-fields.ts";
import { secretDelivery } from "./secret-delivery.ts";
import { type AccessKeyStrategyDeps, accessKeyStrategy } from "./strategy.ts";
import { credentialsOfKey } from "./subresources/credentials-of-key.ts";
import { type ExplainDeps, explain } from "./subresources/explain.ts";
import { type RotateDeps, rotate } from "./subresources/rotate.ts";
import type { WrapKeyDeps } from "./wrap-key.ts";

export const ownedAccessKeys = (
  deps: AccessKeyStrategyDeps &
    RotateDeps &
    ExplainDeps &
    CredentialsDeps &
    ScopeWarningDeps &
    PresentActivityDeps &
    WrapKeyDeps,
): ResourceDefinition =>
  defineResource({
    ...ownedAccessKeyKind(deps.names),
    shortNames: ["oak"],
    namespaced: false,
    schema: accessKeySchema(deps.names),
    columns: accessKeyColumns,
    selectableFields: [".spec.user", ".spec.team", ".spec.type"],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: accessKeyStrategy({
      ...deps,
      generatesKeys: true,
      kind: ownedAccessKeyKind(deps.names),
    }) as Strategy,
    sealed: accessKeySealedFields(deps),
    subresources: [
      rotate(deps),
      explain(deps),
      credentialsSubresource((context) => credentialsOfKey(context, deps), deps),
    ],
    visibility: ownKeysOnly(deps),
    present: presentActivity(deps),
    presentList: presentActivities(deps),
    deliver: secretDelivery(deps),
    warnOfWrite: scopeWarnings(deps),
  });

/** The prefix of the records of all access keys. */
export const ownedAccessKeyKind = ({
  managementGroup,
}: PlatformNames): GroupVersionKind & { readonly plural: string } => ({
  group: managementGroup,
  version: "v1",
  kind: "OwnedAccessKey",
  plural: "ownedaccesskeys",
});
