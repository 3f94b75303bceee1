// The stored record of a CA with the steps of its rotation: prepare, complete and abort. One write takes a step, so that no part of it can be missing.

import type { RotationAction } from "@postern/api/certificate-authority";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { ApiError } from "@postern/apimachinery/meta/api-error";

/** In PEM; the keys are secret. */
export type AuthoritySecrets = {
  readonly certificate: string;
  readonly privateKey: string;
  /** The key of a cluster that was rotated. Absent: the key of its creation. */
  readonly serviceAccountKey?: string | undefined;
};

export type AuthorityRecord = {
  readonly current: AuthoritySecrets;
  /** Prepared: it signs, and the current one is still trusted. */
  readonly next?: (AuthoritySecrets & { readonly preparedAt: number }) | undefined;
  /** Number of the newest CA that was made here, also where its rotation was aborted. */
  readonly generation: number;
  /** When the last rotation was completed, in milliseconds since the epoch. */
  readonly rotatedAt?: number | undefined;
};

/** A record of an earlier release has `certificate` and `privateKey` alone. Throws for one that is incomplete. */
export function readAuthorityRecord(stored: JsonObject): AuthorityRecord {
  const { next, generation, rotatedAt, current } = stored;
  const preparedAt = isJsonObject(next) ? next["preparedAt"] : undefined;
  return {
    current: readSecrets(isJsonObject(current) ? current : stored),
    ...(isJsonObject(next) && typeof preparedAt === "number" ? { next: { ...readSecrets(next), preparedAt } } : {}),
    generation: typeof generation === "number" ? generation : 1,
    ...(typeof rotatedAt === "number" ? { rotatedAt } : {}),
  };
}

function readSecrets({ certificate, privateKey, serviceAccountKey }: JsonObject): AuthoritySecrets {
  if (typeof certificate !== "string" || typeof privateKey !== "string") {
    throw new Error("the record of the CA is incomplete");
  }
  return { certificate, privateKey, ...textMember("serviceAccountKey", serviceAccountKey) };
}

const textMember = (name: string, value: JsonValue | undefined) => (typeof value === "string" ? { [name]: value } : {});

/**
 * The record after a step; the same one where there is nothing to do, because the step was taken before. `create` makes a CA of a number. `now` in
 * milliseconds since the epoch. Throws ApiError 409.
 */
export function rotated(
  record: AuthorityRecord,
  action: RotationAction,
  now: number,
  create: (generation: number) => AuthoritySecrets,
): AuthorityRecord {
  const { current, next, generation, rotatedAt } = record;
  const last = rotatedAt === undefined ? {} : { rotatedAt };
  if (action === "Prepare") {
    if (next !== undefined) return record;
    return { ...record, generation: generation + 1, next: { ...create(generation + 1), preparedAt: now } };
  }
  if (next === undefined) throw notPreparedError(action, rotatedAt);
  if (action === "Abort") return { current, generation, ...last };
  const { preparedAt: _preparedAt, ...secrets } = next;
  return { current: secrets, generation, rotatedAt: now };
}

function notPreparedError(action: RotationAction, rotatedAt: number | undefined): ApiError {
  const last = rotatedAt === undefined ? "" : `; the last one was completed at ${new Date(rotatedAt).toISOString()}`;
  const message = `no rotation of the CA is prepared${last}: ${action} follows Prepare`;
  return new ApiError({ code: 409, reason: "Conflict", message });
}
