// The sealed part of an access key, which is stored with it and never served.

import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MutableJsonObject,
} from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import type { AccessKeyOwner } from "../access-key-owner.ts";
import { type KeyGrant, readKeyGrant, writeKeyGrant } from "../key-grant.ts";
import type { KeyOrigin } from "../key-origins.ts";
import type { KeptAccessKey } from "../secrets/access-key-secrets.ts";

/** A value that a rotation replaced, and that is still recognised. */
export type RetiredValue = KeptAccessKey & {
  /** Milliseconds since the epoch until which it is accepted, unless the new value is used before. */
  readonly until: number;
  /** It ended with an action, and not at a time: no clock makes it valid again, however far apart the clocks of servers are. */
  readonly isOver?: true;
  /** Digest of the caller and its nonce, so that a repeated request is distinguished from another one. Empty: no rotation replaced it. */
  readonly nonce: string;
  /** Counts the values that the key has had, from 0. */
  readonly serial: number;
};

/** The value that the key has now was reported as leaked. */
export type LeakMark = {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Whether it is refused since then. */
  readonly isRefused: boolean;
};

export type SealedAccessKey = {
  readonly key: KeptAccessKey | undefined;
  /** The newest first. */
  readonly retired: readonly RetiredValue[];
  /** When a retired value was used after its grace period, in milliseconds since the epoch. The key is locked until it has a new value. */
  readonly lockedAt: number | undefined;
  /** Serial of the current value. */
  readonly serial: number;
  readonly leak: LeakMark | undefined;
  /** Retired values of a lower serial are known to be in the wrong hands: their use is refused, counted, and locks nothing. */
  readonly inertBelow: number;
  /** Anything made with a value of a lower serial is revoked for good. */
  readonly childrenFrom: number;
  /** When that was last raised, in milliseconds since the epoch. */
  readonly childrenRevokedAt: number | undefined;
  /** The keys that this one was made with, and their values. */
  readonly origins: readonly KeyOrigin[];
  /** The keys with which another credential set the current value. */
  readonly valueOrigins: readonly KeyOrigin[];
  /** The owner with the uid it had when it became the owner: a later one of the same name inherits nothing. */
  readonly owner: (AccessKeyOwner & { readonly uid: string | undefined }) | undefined;
  /** The trust rule, provider or access request that the key was issued by; undefined for other keys. */
  readonly grant: KeyGrant | undefined;
  /** UIDs of its parents, from the credential of the creating request. No owner reference counts. */
  readonly parents: readonly string[];
  /** Default TTL in seconds, if the record was created without spec.ttl. */
  readonly defaultTTL: number | undefined;
  /** Envelopes of secret fields by their path, such as `identity.connectorData`. */
  readonly secrets: { readonly [path: string]: string };
};

/** As it is from now on. */
export const endedValue = (value: RetiredValue, now: number): RetiredValue => ({
  ...value,
  until: Math.min(value.until, now),
  isOver: true,
});

/** Accepted until this time, in milliseconds since the epoch; 0 if it has ended by any clock. */
export const acceptedUntil = ({ until, isOver }: RetiredValue): number => (isOver === true ? 0 : until);

export function readSealedAccessKey(sealed: JsonObject | undefined): SealedAccessKey {
  const { key, retired, lockedAt, owner, parents, defaultTTL, secrets, leak } = sealed ?? {};
  const { serial, inertBelow, childrenFrom, childrenRevokedAt, origins, valueOrigins, grant } = sealed ?? {};
  return {
    key: isJsonObject(key) ? readKept(key) : undefined,
    retired: isJsonArray(retired) ? retired.filter(isJsonObject).map(readRetired) : NO_VALUES,
    lockedAt: typeof lockedAt === "number" ? lockedAt : undefined,
    serial: Number(serial ?? 0),
    leak: isJsonObject(leak) ? { at: Number(leak["at"] ?? 0), isRefused: leak["isRefused"] === true } : undefined,
    inertBelow: Number(inertBelow ?? 0),
    childrenFrom: Number(childrenFrom ?? 0),
    childrenRevokedAt: typeof childrenRevokedAt === "number" ? childrenRevokedAt : undefined,
    origins: readOrigins(origins),
    valueOrigins: readOrigins(valueOrigins),
    owner: isJsonObject(owner) ? readOwner(owner) : undefined,
    grant: readKeyGrant(grant),
    parents: isJsonArray(parents) ? parents.map(textOf) : NONE,
    defaultTTL: typeof defaultTTL === "number" ? defaultTTL : undefined,
    secrets: isJsonObject(secrets)
      ? Object.fromEntries(Object.entries(secrets).map(([path, value]) => [path, textOf(value)]))
      : {},
  };
}

/** Members that say nothing are left out. */
export function writeSealedAccessKey(sealed: SealedAccessKey): JsonObject {
  const { key, retired, lockedAt, owner, parents, defaultTTL, secrets, leak } = sealed;
  const { serial, inertBelow, childrenFrom, childrenRevokedAt, origins, valueOrigins, grant } = sealed;
  const written: MutableJsonObject = {};
  if (key !== undefined) written["key"] = { ...key };
  if (retired.length > 0) written["retired"] = retired.map((value) => ({ ...value }));
  if (lockedAt !== undefined) written["lockedAt"] = lockedAt;
  if (serial !== 0) written["serial"] = serial;
  if (leak !== undefined) written["leak"] = { ...leak };
  if (inertBelow !== 0) written["inertBelow"] = inertBelow;
  if (childrenFrom !== 0) written["childrenFrom"] = childrenFrom;
  if (childrenRevokedAt !== undefined) written["childrenRevokedAt"] = childrenRevokedAt;
  if (origins.length > 0) written["origins"] = origins.map((made) => ({ ...made }));
  if (valueOrigins.length > 0) written["valueOrigins"] = valueOrigins.map((made) => ({ ...made }));
  if (owner !== undefined) {
    const { kind, name, uid } = owner;
    written["owner"] = uid === undefined ? { kind, name } : { kind, name, uid };
  }
  if (grant !== undefined) written["grant"] = writeKeyGrant(grant);
  if (parents.length > 0) written["parents"] = parents;
  if (defaultTTL !== undefined) written["defaultTTL"] = defaultTTL;
  if (Object.keys(secrets).length > 0) written["secrets"] = secrets;
  return written;
}

const NONE: readonly string[] = [];
const NO_VALUES: readonly RetiredValue[] = [];
const NO_ORIGINS: readonly KeyOrigin[] = [];

const readKept = ({ id, digest, ringKey, structured }: JsonObject): KeptAccessKey => ({
  id: textOf(id),
  digest: textOf(digest),
  ...(typeof ringKey === "string" ? { ringKey } : {}),
  structured: structured === true,
});

const readRetired = (value: JsonObject): RetiredValue => ({
  ...readKept(value),
  until: Number(value["until"] ?? 0),
  ...(value["isOver"] === true ? { isOver: true } : {}),
  nonce: textOf(value["nonce"]),
  serial: Number(value["serial"] ?? 0),
});

/** Also as the record of a certificate has it. */
export const readOrigins = (value: JsonValue | undefined): readonly KeyOrigin[] =>
  isJsonArray(value) && value.length > 0
    ? value.filter(isJsonObject).map(({ name, uid, serial }) => ({
        name: textOf(name),
        uid: textOf(uid),
        serial: Number(serial ?? 0),
      }))
    : NO_ORIGINS;

function readOwner({ kind, name, uid }: JsonObject): SealedAccessKey["owner"] {
  if (kind !== "user" && kind !== "team" && kind !== "subject") return undefined;
  return { kind, name: textOf(name), uid: typeof uid === "string" ? uid : undefined };
}
