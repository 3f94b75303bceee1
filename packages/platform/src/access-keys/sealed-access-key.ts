// What is kept beside the record of an access key and never served.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { KeptAccessKey } from "./access-key-secrets.ts";
import type { AccessKeyOwner } from "./access-key-state.ts";

/** A value that a rotation replaced, and that is still told from noise. */
export type RetiredValue = KeptAccessKey & {
  /** Milliseconds since the epoch until which it is accepted, unless the new value is used before. */
  readonly until: number;
  /** It ended by what was done, not by the time: no clock makes it good again, however far apart those of the servers are. */
  readonly isOver?: true;
  /** Digest of the caller and its nonce, so that a repeated request is told from another one. */
  readonly nonce: string;
};

export type SealedAccessKey = {
  readonly key: KeptAccessKey | undefined;
  /** The newest first. */
  readonly retired: readonly RetiredValue[];
  /** A retired value was used after its end, in milliseconds since the epoch: nothing opens until the key has a new value. */
  readonly lockedAt: number | undefined;
  /** The owner with the uid it had when it became the owner: a later one of the same name inherits nothing. */
  readonly owner: (AccessKeyOwner & { readonly uid: string | undefined }) | undefined;
  /** uids of the keys it was made with, which the owner references of the record may no longer tell. */
  readonly parents: readonly string[];
  /** Seconds, where the record was created without spec.ttl and the server gave it a life. */
  readonly defaultTTL: number | undefined;
  /** Envelopes of secret fields by their path, such as `identity.connectorData`. */
  readonly secrets: { readonly [path: string]: string };
  /** Since when nothing but the activity changed: the revision, and the digest of everything else as it was then. */
  readonly unchanged: { readonly since: number; readonly digest: string } | undefined;
};

/** As it is from now on. */
export const endedValue = (value: RetiredValue, now: number): RetiredValue => ({
  ...value,
  until: Math.min(value.until, now),
  isOver: true,
});

/** Milliseconds since the epoch until which it is accepted; 0 where it is over by any clock. */
export const acceptedUntil = ({ until, isOver }: RetiredValue): number => (isOver === true ? 0 : until);

export function readSealedAccessKey(sealed: JsonObject | undefined): SealedAccessKey {
  const { key, retired, lockedAt, owner, parents, defaultTTL, secrets, unchanged } = sealed ?? {};
  return {
    key: isJsonObject(key) ? readKept(key) : undefined,
    retired: isJsonArray(retired) ? retired.filter(isJsonObject).map(readRetired) : NO_VALUES,
    lockedAt: typeof lockedAt === "number" ? lockedAt : undefined,
    owner: isJsonObject(owner) ? readOwner(owner) : undefined,
    parents: isJsonArray(parents) ? parents.map(text) : NONE,
    defaultTTL: typeof defaultTTL === "number" ? defaultTTL : undefined,
    secrets: isJsonObject(secrets)
      ? Object.fromEntries(Object.entries(secrets).map(([path, value]) => [path, text(value)]))
      : {},
    unchanged: isJsonObject(unchanged)
      ? { since: Number(unchanged["since"] ?? 0), digest: text(unchanged["digest"]) }
      : undefined,
  };
}

/** Members that say nothing are left out. */
export function writeSealedAccessKey(sealed: SealedAccessKey): JsonObject {
  const { key, retired, lockedAt, owner, parents, defaultTTL, secrets, unchanged } = sealed;
  return {
    ...(key === undefined ? {} : { key: { ...key } }),
    ...(retired.length === 0 ? {} : { retired: retired.map((value) => ({ ...value })) }),
    ...(lockedAt === undefined ? {} : { lockedAt }),
    ...(owner === undefined
      ? {}
      : { owner: { kind: owner.kind, name: owner.name, ...(owner.uid === undefined ? {} : { uid: owner.uid }) } }),
    ...(parents.length === 0 ? {} : { parents }),
    ...(defaultTTL === undefined ? {} : { defaultTTL }),
    ...(Object.keys(secrets).length === 0 ? {} : { secrets }),
    ...(unchanged === undefined ? {} : { unchanged: { ...unchanged } }),
  };
}

const NONE: readonly string[] = [];
const NO_VALUES: readonly RetiredValue[] = [];

const readKept = ({ id, digest, ringKey, structured }: JsonObject): KeptAccessKey => ({
  id: text(id),
  digest: text(digest),
  ...(typeof ringKey === "string" ? { ringKey } : {}),
  structured: structured === true,
});

const readRetired = (value: JsonObject): RetiredValue => ({
  ...readKept(value),
  until: Number(value["until"] ?? 0),
  ...(value["isOver"] === true ? { isOver: true } : {}),
  nonce: text(value["nonce"]),
});

const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

function readOwner({ kind, name, uid }: JsonObject): SealedAccessKey["owner"] {
  if (kind !== "user" && kind !== "team" && kind !== "subject") return undefined;
  return { kind, name: text(name), uid: typeof uid === "string" ? uid : undefined };
}
