// OwnedAccessKeys: the access keys of the caller and of its teams.

import type { GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { accessKeySchema } from "../../api/owned-access-key.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { type CredentialsDependencies, credentialsSubresource } from "../credentials-subresource.ts";
import { accessKeyColumns } from "./columns.ts";
import { secretDelivery } from "./deliver-secret.ts";
import { ownKeysOnly } from "./key-ownership.ts";
import { type PresentActivityDependencies, presentActivities, presentActivity } from "./present-activity.ts";
import { accessKeySealedFields } from "./sealed-fields.ts";
import { type AccessKeyStrategyDependencies, accessKeyStrategy } from "./strategy.ts";
import { credentialsOfKey } from "./subresources/credentials-of-key.ts";
import { type ExplainDependencies, explain } from "./subresources/explain.ts";
import { type RotateDependencies, rotate } from "./subresources/rotate.ts";
import { type ScopeWarningDependencies, warnOfScope } from "./warn-of-scope.ts";

export type OwnedAccessKeysDependencies = AccessKeyStrategyDependencies &
  RotateDependencies &
  ExplainDependencies &
  CredentialsDependencies &
  ScopeWarningDependencies &
  PresentActivityDependencies;

export const ownedAccessKeys = (dependencies: OwnedAccessKeysDependencies): ResourceDefinition =>
  defineResource({
    ...ownedAccessKeyKind(dependencies.names),
    singular: "ownedaccesskey",
    shortNames: ["oak"],
    namespaced: false,
    schema: accessKeySchema(dependencies.names),
    columns: accessKeyColumns,
    selectableFields: [".spec.user", ".spec.team", ".spec.type"],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: accessKeyStrategy({
      ...dependencies,
      generatesKeys: true,
      kind: ownedAccessKeyKind(dependencies.names),
    }) as Strategy,
    sealed: accessKeySealedFields(dependencies),
    subresources: [
      rotate(dependencies),
      explain(dependencies),
      credentialsSubresource((context) => credentialsOfKey(context, dependencies), dependencies),
    ],
    visibility: ownKeysOnly(dependencies),
    present: presentActivity(dependencies),
    presentList: presentActivities(dependencies),
    deliver: secretDelivery(dependencies),
    warnOfWrite: warnOfScope(dependencies),
  });

/** Under which the records of all access keys are kept. */
export const ownedAccessKeyKind = ({
  managementGroup,
}: PlatformNames): GroupVersionKind & { readonly plural: string } => ({
  group: managementGroup,
  version: "v1",
  kind: "OwnedAccessKey",
  plural: "ownedaccesskeys",
});
