// The CA of the serving certificate and its rotation: the store has it from the first rotation on, and each server writes it into its files (ADR 271).

import { join } from "node:path";
import type { RotationAction } from "@postern/api/certificate-authority";
import { MANAGEMENT } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import {
  type AuthorityRecord,
  type AuthoritySecrets,
  readAuthorityRecord,
  rotated,
} from "../features/certificate-authorities/authority-record.ts";
import {
  PLATFORM,
  type RotationStates,
  stateOfRecord,
  stateOfRotation,
} from "../features/certificate-authorities/rotation-states.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import { createInternalRecords, createInternalValues } from "../foundation/encryption/internal-records.ts";
import type { KeyRing } from "../foundation/encryption/key-ring.ts";
import { createCertificateAuthority } from "../foundation/pki/certificate-authority.ts";
import { readFileIfPresent, replacePrivateFile } from "../foundation/pki/private-file.ts";
import { AUTHORITY_NAME } from "./serving-identity.ts";

const AUTHORITY_RECORD = "platform-authority";

export type AuthorityStore = {
  readonly storage: Storage;
  readonly keyRing: KeyRing;
  readonly random: Runtime["random"];
};

const recordsOf = ({ storage, keyRing, random }: AuthorityStore) =>
  createInternalRecords({ storage, sealedValues: createInternalValues(keyRing, random) }, MANAGEMENT);

const pathsOf = ({ dataDir }: Pick<Configuration, "dataDir">) => ({
  certificate: join(dataDir, "ca.crt"),
  key: join(dataDir, "ca.key"),
});

/** As a file has it: the CA that signs the serving certificate first, then a prepared one. */
const bundleOf = ({ current, next }: AuthorityRecord): string => current.certificate + (next?.certificate ?? "");

/** Undefined where it was never rotated: the files have it. */
export async function readPlatformAuthority(store: AuthorityStore): Promise<AuthorityRecord | undefined> {
  const stored = await recordsOf(store).read(AUTHORITY_RECORD);
  return stored && readAuthorityRecord(stored);
}

/**
 * Makes the files of a server what the store says. Resolves with true where they were others. In between, `ca.crt` has the certificates of both
 * keys, so that each state that a crash leaves can be started from.
 */
export async function adoptPlatformAuthority(
  configuration: Pick<Configuration, "dataDir">,
  store: AuthorityStore,
): Promise<boolean> {
  const record = await readPlatformAuthority(store);
  if (record === undefined) return false;
  const paths = pathsOf(configuration);
  const bundle = bundleOf(record);
  const certificates = await readFileIfPresent(paths.certificate, "the certificate of the certificate authority");
  const key = await readFileIfPresent(paths.key, "the private key of the certificate authority");
  const { privateKey } = record.current;
  if (certificates === bundle && key === privateKey) return false;
  if (key !== privateKey) {
    if (key !== undefined) await replacePrivateFile(paths.certificate, `${bundle}${certificates ?? ""}`);
    await replacePrivateFile(paths.key, privateKey);
  }
  await replacePrivateFile(paths.certificate, bundle);
  return true;
}

/** Throws ApiError 409 where the CA of the serving certificate is not that of the platform. */
export function assertOwnAuthority({ tlsCertFile }: Pick<Configuration, "tlsCertFile">): void {
  if (tlsCertFile === "") return;
  const message = "the server has a certificate of --tls-cert-file: its CA is rotated where it comes from";
  throw new ApiError({ code: 409, reason: "Conflict", message });
}

/** Takes a step, from the files where there was none before. Throws ApiError 409 for a step that does not follow. */
export async function rotatePlatformAuthority(
  action: RotationAction,
  configuration: Pick<Configuration, "dataDir" | "tlsCertFile">,
  store: AuthorityStore,
  { clock, random }: Pick<Runtime, "clock" | "random">,
  rotations: Pick<RotationStates, "of" | "publish">,
): Promise<AuthorityRecord> {
  assertOwnAuthority(configuration);
  const records = recordsOf(store);
  if (action === "Prepare" && !(await records.has(AUTHORITY_RECORD))) {
    await records.create(AUTHORITY_RECORD, jsonOf({ current: await secretsInFiles(configuration), generation: 1 }));
  }
  const create = (generation: number): AuthoritySecrets => {
    const commonName = `${AUTHORITY_NAME}-${generation}`;
    const { certificatePem, privateKeyPem } = createCertificateAuthority({ commonName, clock, random });
    return { certificate: certificatePem, privateKey: privateKeyPem };
  };
  const stored = await records
    .update(AUTHORITY_RECORD, (known) => {
      const before = readAuthorityRecord(known);
      const after = rotated(before, action, clock.now(), create);
      return after === before ? undefined : jsonOf(after);
    })
    .catch(async (error: unknown) => {
      // It may have been taken already, by a server that ended before others heard of it.
      const found = await readPlatformAuthority(store);
      const state = found && stateOfRecord(found, rotations.of(PLATFORM));
      if (state !== undefined) await rotations.publish(PLATFORM, state);
      // The record of a CA does not know whose it is.
      throw isApiError(error, "Conflict") ? conflict(error.message) : error;
    });
  const record = stored && readAuthorityRecord(stored);
  if (record === undefined) throw conflict(`no rotation of the CA is prepared: ${action} follows Prepare`);
  await rotations.publish(PLATFORM, stateOfRotation(record, action));
  return record;
}

/** As for a resource; the path of this CA has none that `details` could name. */
const conflict = (message: string): ApiError =>
  new ApiError({
    code: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on the CA of the platform: ${message}`,
  });

/** The CA of a server that never rotated it, which the files have. */
export async function secretsInFiles(configuration: Pick<Configuration, "dataDir">): Promise<AuthoritySecrets> {
  const { certificate, key } = pathsOf(configuration);
  const [certificatePem, privateKey] = await Promise.all([
    readFileIfPresent(certificate, "the certificate of the certificate authority"),
    readFileIfPresent(key, "the private key of the certificate authority"),
  ]);
  if (certificatePem === undefined || privateKey === undefined) throw new Error(`${certificate} or ${key} is missing`);
  return { certificate: certificatePem, privateKey };
}

/** A record is plain JSON; members that say nothing are left out. */
const jsonOf = (record: AuthorityRecord): JsonObject => JSON.parse(JSON.stringify(record)) as JsonObject;
