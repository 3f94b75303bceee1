// The CA of one embedded virtual cluster, and the key that signs its ServiceAccount tokens: created once, encrypted in the store, and rotated in two
// phases (ADR 270).

import type { RotationAction } from "@postern/api/certificate-authority";
import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { sharedTurnOf } from "@postern/apiserver/runtime/shared-turn";
import {
  createServiceAccountKeyPem,
  type ServiceAccountKey,
  serviceAccountKeyFromPem,
} from "@postern/kubernetes/service-accounts/service-account-key";
import { type InternalRecords, virtualClusterComposition } from "../../../foundation/encryption/internal-records.ts";
import {
  authorityFromPem,
  type CertificateAuthority,
  createCertificateAuthority,
} from "../../../foundation/pki/certificate-authority.ts";
import { type AuthorityRecord, readAuthorityRecord, rotated } from "../../certificate-authorities/authority-record.ts";

/** Never empty: the first authority and the first key sign, and what any of them signed is accepted. */
export type ClusterSecrets = {
  readonly authorities: readonly [CertificateAuthority, ...CertificateAuthority[]];
  readonly serviceAccountKeys: readonly [ServiceAccountKey, ...ServiceAccountKey[]];
};

/** The secrets of a cluster that runs. */
export type LiveSecrets = {
  readonly current: ClusterSecrets;
  onChange(listener: () => void): Disposable;
  replace(next: ClusterSecrets): void;
};

const AUTHORITY_RECORD = "certificate-authority";
const KEY_RECORD = "service-account-key";

export function createLiveSecrets(first: ClusterSecrets): LiveSecrets {
  let current = first;
  const listeners = new Set<() => void>();
  return {
    get current() {
      return current;
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    replace(next) {
      current = next;
      for (const listener of [...listeners]) listener();
    },
  };
}

/** Undefined for a cluster that has not been created yet. */
export async function loadClusterSecrets(
  records: InternalRecords,
  { clock }: Pick<Runtime, "clock">,
): Promise<ClusterSecrets | undefined> {
  const record = await readRecord(records);
  if (record === undefined) return undefined;
  const firstKeyPem = await loadOrCreateServiceAccountKey(records);
  // Parsing keys takes milliseconds, and very many clusters may start at the same time.
  await sharedTurnOf(clock).next();
  return secretsOf(record, firstKeyPem);
}

/** Undefined for a cluster that has not been created yet. */
export async function readRecord(records: InternalRecords): Promise<AuthorityRecord | undefined> {
  const stored = await records.read(AUTHORITY_RECORD);
  return stored && readAuthorityRecord(stored);
}

function secretsOf({ current, next }: AuthorityRecord, firstKeyPem: string): ClusterSecrets {
  const authority = authorityFromPem(current.certificate, current.privateKey);
  const key = serviceAccountKeyFromPem(current.serviceAccountKey ?? firstKeyPem);
  if (next === undefined) return { authorities: [authority], serviceAccountKeys: [key] };
  return {
    authorities: [authorityFromPem(next.certificate, next.privateKey), authority],
    serviceAccountKeys:
      next.serviceAccountKey === undefined ? [key] : [serviceAccountKeyFromPem(next.serviceAccountKey), key],
  };
}

/**
 * Takes a step of a rotation, and gives the record before and after it. Throws ApiError 409 for a step that does not follow. Undefined for a cluster
 * that has not been created yet.
 */
export async function rotateClusterSecrets(
  records: InternalRecords,
  action: RotationAction,
  commonName: string,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): Promise<{ readonly before: AuthorityRecord; readonly after: AuthorityRecord } | undefined> {
  let before: AuthorityRecord | undefined;
  const stored = await records.update(AUTHORITY_RECORD, (known) => {
    before = readAuthorityRecord(known);
    const after = rotated(before, action, clock.now(), (generation) => {
      const name = generation === 1 ? commonName : `${commonName}-${generation}`;
      const { certificatePem, privateKeyPem } = createCertificateAuthority({ commonName: name, clock, random });
      return {
        certificate: certificatePem,
        privateKey: privateKeyPem,
        serviceAccountKey: createServiceAccountKeyPem(),
      };
    });
    // A record is plain JSON; members that say nothing are left out when it is written.
    return after === before ? undefined : (JSON.parse(JSON.stringify(after)) as JsonObject);
  });
  return stored === undefined || before === undefined ? undefined : { before, after: readAuthorityRecord(stored) };
}

/** The common name of the first CA of a cluster, by the uid of its instance; those after it have a number at the end. */
export const firstAuthorityName = (uid: string): string => `${virtualClusterComposition(uid)}-ca`;

export const hasClusterAuthority = (records: InternalRecords): Promise<boolean> => records.has(AUTHORITY_RECORD);

/** `commonName` is its name in certificates. An existing CA is kept. */
export async function createClusterAuthority(
  records: InternalRecords,
  commonName: string,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): Promise<void> {
  if (await hasClusterAuthority(records)) return;
  await sharedTurnOf(clock).next();
  const { certificatePem, privateKeyPem } = createCertificateAuthority({ commonName, clock, random });
  await records.create(AUTHORITY_RECORD, { certificate: certificatePem, privateKey: privateKeyPem });
}

async function loadOrCreateServiceAccountKey(records: InternalRecords): Promise<string> {
  const record =
    (await records.read(KEY_RECORD)) ??
    (await records.create(KEY_RECORD, { privateKey: createServiceAccountKeyPem() }));
  const privateKey: JsonValue | undefined = record["privateKey"];
  if (typeof privateKey !== "string") throw new Error("the record of the cluster's ServiceAccount key is incomplete");
  return privateKey;
}
