// The key with which one embedded virtual cluster signs the tokens of its ServiceAccounts: made once, sealed in the store.

import {
  createServiceAccountKeyPem,
  type ServiceAccountKey,
  serviceAccountKeyFromPem,
} from "@postern/apiserver/service-accounts/service-account-key";
import type { InternalRecords } from "../../encryption/internal-records.ts";

const RECORD = "service-account-key";

export async function loadOrCreateServiceAccountKey(records: InternalRecords): Promise<ServiceAccountKey> {
  const record =
    (await records.read(RECORD)) ?? (await records.create(RECORD, { privateKey: createServiceAccountKeyPem() }));
  const { privateKey } = record;
  if (typeof privateKey !== "string") throw new Error("the record of the cluster's ServiceAccount key is not complete");
  return serviceAccountKeyFromPem(privateKey);
}
