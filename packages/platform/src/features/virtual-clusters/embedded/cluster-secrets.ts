// The CA of one embedded virtual cluster, and the key that signs its ServiceAccount tokens: created once, encrypted in the store.

import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createServiceAccountKeyPem } from "@postern/kubernetes/service-accounts/service-account-key";
import type { InternalRecords } from "../../../foundation/encryption/internal-records.ts";
import {
  authorityFromPem,
  type CertificateAuthority,
  createCertificateAuthority,
} from "../../../foundation/pki/certificate-authority.ts";

export type ClusterSecrets = {
  readonly authority: CertificateAuthority;
  /** PKCS #8 in PEM. */
  readonly serviceAccountKeyPem: string;
};

const AUTHORITY_RECORD = "certificate-authority";
const KEY_RECORD = "service-account-key";

/** Undefined for a cluster that has not been created yet. */
export async function loadClusterSecrets(records: InternalRecords): Promise<ClusterSecrets | undefined> {
  const authority = await loadAuthority(records);
  return authority && { authority, serviceAccountKeyPem: await loadOrCreateServiceAccountKey(records) };
}

async function loadAuthority(records: InternalRecords): Promise<CertificateAuthority | undefined> {
  const record = await records.read(AUTHORITY_RECORD);
  if (record === undefined) return undefined;
  const { certificate, privateKey } = record;
  if (typeof certificate !== "string" || typeof privateKey !== "string") {
    throw new Error("the record of the cluster's CA is incomplete");
  }
  return authorityFromPem(certificate, privateKey);
}

export const hasClusterAuthority = (records: InternalRecords): Promise<boolean> => records.has(AUTHORITY_RECORD);

/** `commonName` is its name in certificates. An existing CA is kept. */
export async function createClusterAuthority(
  records: InternalRecords,
  commonName: string,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): Promise<void> {
  if (await hasClusterAuthority(records)) return;
  const { certificatePem, privateKeyPem } = createCertificateAuthority({ commonName, clock, random });
  await records.create(AUTHORITY_RECORD, { certificate: certificatePem, privateKey: privateKeyPem });
}

async function loadOrCreateServiceAccountKey(records: InternalRecords): Promise<string> {
  const record =
    (await records.read(KEY_RECORD)) ??
    (await records.create(KEY_RECORD, { privateKey: createServiceAccountKeyPem() }));
  const { privateKey } = record;
  if (typeof privateKey !== "string") throw new Error("the record of the cluster's ServiceAccount key is incomplete");
  return privateKey;
}
