// The kinds OwnedAccessKey and AccessKey, and what other kinds show of credentials.

import { restrictionNames } from "@postern/api/access-key-restrictions";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ResourceStorage } from "@postern/apiserver/registry/resource-storage";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { Authorization } from "../../authorization/feature.ts";
import { createReachesProject } from "../../authorization/reaches-project.ts";
import type { Budgets } from "../../budgets/feature.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import type { Directory } from "../../directory/directory.ts";
import type { IdentityProviders } from "../../sign-in/providers/identity-provider-index.ts";
import type { PlatformEndpoint } from "../../virtual-clusters/platform-endpoint.ts";
import type { WrappedValues } from "../../wrapped-values/wrapped-values.ts";
import type { AccessKeys } from "../feature.ts";
import { createKeyQuota, type KeyQuota } from "../key-quota.ts";
import { createSealedRecordWriter } from "../rotation/sealed-record-writer.ts";
import { accessKeys } from "./access-keys/index.ts";
import type { CredentialsDeps } from "./credentials-subresource.ts";
import { disableKey } from "./disable-key.ts";
import { ownedAccessKeys } from "./owned-access-keys/index.ts";

type QuotaNeeds = { readonly keys: AccessKeys; readonly directory: Directory; readonly authorization: Authorization };

export const openKeyQuota = (
  { configuration, names, lookup }: Foundation,
  { keys, directory, authorization }: QuotaNeeds,
): KeyQuota =>
  createKeyQuota({
    keys: keys.index,
    maxPerOwner: configuration.accessKeys.maxPerOwner,
    lookup,
    restrictionNames: restrictionNames(names.name),
    reaches: createReachesProject({ names, directory }, authorization.authorizer),
  });

/** For the subresource `credentials` of users, teams, keys and virtual clusters. */
export const credentialsOf = (
  { names, own, runtime: { clock }, signal }: Foundation,
  { keys, certificates }: { readonly keys: AccessKeys; readonly certificates: CertificateLedger },
): CredentialsDeps => ({
  names,
  keys: keys.index,
  certificates,
  activity: keys.activity,
  gatherUses: keys.gatherUses,
  accessKeys: {
    get keys() {
      return own("OwnedAccessKey").keys;
    },
    get view() {
      return own("OwnedAccessKey").view;
    },
  },
  disableKey: (key) => disableKey(key, own("OwnedAccessKey"), { clock, signal }),
});

export type AccessKeyKindsNeeds = {
  readonly keys: AccessKeys;
  readonly directory: Directory;
  readonly authorization: Authorization;
  readonly quota: KeyQuota;
  readonly budgets: Budgets;
  readonly providers: IdentityProviders;
  readonly certificates: CertificateLedger;
  readonly credentials: CredentialsDeps;
  readonly endpoint: PlatformEndpoint;
  readonly wrapped: WrappedValues;
};

export function accessKeyKinds(
  { names, configuration, runtime, cache, lookup, own, installed }: Foundation,
  needs: AccessKeyKindsNeeds,
): { readonly ownedAccessKeys: ResourceDefinition; readonly accessKeys: ResourceDefinition } {
  const { keys, directory, authorization, certificates } = needs;
  const { authorizer } = authorization;
  const shared = {
    names,
    configuration,
    runtime,
    lookup,
    keys: keys.index,
    directory,
    authorizer,
    secrets: keys.secrets,
    valueClaims: keys.valueClaims,
    comparisons: keys.comparisons,
    grants: keys.grants,
    activity: keys.activity,
    recordEvent: keys.recordEvent,
    keyQuota: needs.quota,
    identityProviders: needs.providers,
    endpoint: needs.endpoint,
    wrapped: needs.wrapped,
    secretResource: () => installed("", "Secret"),
    namespaceResource: () => installed("", "Namespace"),
  };
  return {
    ownedAccessKeys: ownedAccessKeys({
      ...shared,
      certificates,
      accessKeys: needs.credentials.accessKeys,
      disableKey: needs.credentials.disableKey,
      identityOf: keys.authenticator.identityOf,
      decisions: authorizer,
      usage: keys.usage,
      gatherUses: keys.gatherUses,
      allKeys: () => keys.index.all(),
      // A stored kind serves every verb.
      ownKeys: () => own("OwnedAccessKey").servedStore as Required<ResourceStorage>,
      countedRecords: createSealedRecordWriter(keys.records, { storage: needs.budgets.management.storage, cache }),
      sealedRecords: keys.sealedRecords,
    }),
    accessKeys: accessKeys(shared),
  };
}
