// The authority of one embedded virtual cluster: made once, its private key sealed in the store.

import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { InternalRecords } from "../../encryption/internal-records.ts";
import {
  authorityFromPem,
  type CertificateAuthority,
  createCertificateAuthority,
} from "../../pki/certificate-authority.ts";

const RECORD = "certificate-authority";

/** Undefined when it has not been made yet. */
export async function loadClusterAuthority(records: InternalRecords): Promise<CertificateAuthority | undefined> {
  const record = await records.read(RECORD);
  if (record === undefined) return undefined;
  const { certificate, privateKey } = record;
  if (typeof certificate !== "string" || typeof privateKey !== "string") {
    throw new Error("the record of the cluster's authority is not complete");
  }
  return authorityFromPem(certificate, privateKey);
}

export const hasClusterAuthority = (records: InternalRecords): Promise<boolean> => records.has(RECORD);

/** `commonName` names it in what it signs. An authority that is there already stays. */
export async function createClusterAuthority(
  records: InternalRecords,
  commonName: string,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): Promise<void> {
  if (await hasClusterAuthority(records)) return;
  const { certificatePem, privateKeyPem } = createCertificateAuthority({ commonName, clock, random });
  await records.create(RECORD, { certificate: certificatePem, privateKey: privateKeyPem });
}
