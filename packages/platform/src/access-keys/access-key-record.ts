// A stored access key in the index, and how it is read: the fields that decide about it, and its expiration.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader, type MemberSelection } from "@postern/apiserver/cache/read-members";
import type { ClockEpoch } from "@postern/apiserver/runtime/system-runtime";
import { type AccessKeyRestrictions, type RestrictionNames, restrictionsOf } from "../api/access-key-restrictions.ts";
import { ownerOf } from "./access-key-owner.ts";
import type { KeptAccessKey } from "./access-key-secrets.ts";
import type { AccessKeyOwner, AccessKeyState } from "./access-key-state.ts";
import type { KeyGrant } from "./key-grant.ts";
import type { KeyOrigin } from "./key-origins.ts";
import { READY_REASONS } from "./key-validity.ts";
import { acceptedUntil, type RetiredValue, readSealedAccessKey, type SealedAccessKey } from "./sealed-access-key.ts";

/** Computes the expiration of a record from what only the index knows: usage that is not written yet, ancestors and settings. */
export type Expiry = (record: AccessKeyRecord) => number | undefined;

const NOBODY: AccessKeyOwner = { kind: "subject", name: "" };
const NONE: readonly string[] = [];

export class AccessKeyRecord implements AccessKeyState {
  readonly name: string;
  readonly uid: string;
  readonly id: string;
  readonly owner: AccessKeyOwner;
  readonly groups: readonly string[];
  readonly type: string;
  readonly restrictions: AccessKeyRestrictions | undefined;
  readonly disabled: boolean;
  /** Deleted, and only held by finalizers: it is refused. */
  readonly isTerminating: boolean;
  /** A retired value of it was used after its end. */
  readonly isLocked: boolean;
  /** The current value of the key was reported as leaked, and is refused. */
  readonly isLeaked: boolean;
  readonly serial: number;
  readonly origins: readonly KeyOrigin[];
  readonly childrenFrom: number;
  /** When that was last raised, in milliseconds since the epoch. */
  readonly childrenRevokedAt: number | undefined;
  readonly isInert: boolean;
  readonly retired: readonly RetiredValue[];
  readonly isRetiredValue: boolean;
  /** For a retired value: milliseconds since the epoch until which it is accepted. */
  readonly acceptedUntil: number | undefined;
  readonly parentUids: readonly string[];
  readonly grant: KeyGrant | undefined;
  readonly defaultTTL: number | undefined;
  /** That of the last change of what it opens, and for how long. */
  readonly revision: number;
  /** That of the last write. */
  readonly writtenRevision: number;
  /** base64url of the keyed hash. */
  readonly digest: string;
  /** The key of the ring that it is under; undefined: the ring's first. */
  readonly ringKey: string | undefined;
  /** Found by the id in the value rather than by its digest. */
  readonly structured: boolean;
  /** The uid that its owner had when it became the owner. */
  readonly ownerUid: string | undefined;
  readonly createdAt: number;
  /** Seconds; 0: never expires. */
  readonly ttl: number;
  readonly countsFromActivity: boolean;
  /** Milliseconds since the epoch, as last written. */
  readonly lastActivity: number | undefined;
  /** The reason in its condition Ready; undefined without one. */
  readonly readyReason: string | undefined;
  /** In which its times were learned. */
  readonly epoch: ClockEpoch;
  readonly #expiry: Expiry;

  /** `previous` is what was known under the name before; `retired` the value to see the key by, in place of the one it has. */
  constructor(
    { revision, name, metadata, spec, status, sealed }: StoredAccessKey,
    names: RestrictionNames,
    expiry: Expiry,
    epoch: ClockEpoch,
    previous?: AccessKeyRecord,
    retired?: RetiredValue,
  ) {
    this.name = name;
    this.uid = textOf(metadata.uid);
    const value: KeptAccessKey | undefined = retired ?? sealed.key;
    this.id = value?.id ?? "";
    this.isLocked = sealed.lockedAt !== undefined;
    this.isLeaked = sealed.leak?.isRefused === true;
    this.serial = retired?.serial ?? sealed.serial;
    this.origins = sealed.valueOrigins.length === 0 ? sealed.origins : [...sealed.origins, ...sealed.valueOrigins];
    this.childrenFrom = sealed.childrenFrom;
    this.childrenRevokedAt = sealed.childrenRevokedAt;
    this.isInert = retired !== undefined && (retired.serial < sealed.inertBelow || sealed.leak !== undefined);
    this.retired = sealed.retired;
    this.isRetiredValue = retired !== undefined;
    this.acceptedUntil = retired === undefined ? undefined : acceptedUntil(retired);
    this.owner = ownerOf(spec) ?? NOBODY;
    this.groups = textsOf(spec.groups);
    this.type = textOf(spec.type);
    this.restrictions = restrictionsOf(spec, names);
    this.disabled = spec.disabled === true;
    this.isTerminating = (metadata.deletionTimestamp ?? null) !== null;
    this.parentUids = sealed.parents;
    this.grant = sealed.grant;
    this.defaultTTL = sealed.defaultTTL;
    this.digest = value?.digest ?? "";
    this.ringKey = value?.ringKey;
    this.structured = value?.structured ?? false;
    this.ownerUid = sealed.owner?.uid;
    this.createdAt = timeOf(metadata.creationTimestamp) ?? 0;
    this.ttl = spec.ttl === undefined ? (sealed.defaultTTL ?? 0) : Number(spec.ttl);
    this.countsFromActivity = spec.ttlAfterLastActivity === true;
    this.lastActivity = timeOf(status.lastActivity);
    this.readyReason = readyReasonOf(status.conditions);
    this.#expiry = expiry;
    this.epoch = epoch;
    this.writtenRevision = revision;
    this.revision = previous !== undefined && grantsTheSame(previous, this) ? previous.revision : revision;
  }

  get kept(): KeptAccessKey {
    const { id, digest, ringKey, structured } = this;
    return { id, digest, ...(ringKey === undefined ? {} : { ringKey }), structured };
  }

  get expiresAt(): number | undefined {
    return this.#expiry(this);
  }
}

/** Whether only what is not about rights differs, such as the activity: then nothing derived from the one is out of date. */
export function grantsTheSame(a: AccessKeyRecord, b: AccessKeyRecord): boolean {
  return (
    a.uid === b.uid &&
    a.id === b.id &&
    a.type === b.type &&
    a.disabled === b.disabled &&
    a.isTerminating === b.isTerminating &&
    a.isLocked === b.isLocked &&
    a.isLeaked === b.isLeaked &&
    a.childrenFrom === b.childrenFrom &&
    a.isInert === b.isInert &&
    a.ttl === b.ttl &&
    a.countsFromActivity === b.countsFromActivity &&
    samePermissions(a, b)
  );
}

/** Whether both allow their bearers the same, while they are valid. */
export function samePermissions(a: AccessKeyRecord, b: AccessKeyRecord): boolean {
  // All of it is plain JSON by its types.
  const rights = ({ owner, ownerUid, groups, restrictions }: AccessKeyRecord) =>
    [owner, ownerUid ?? null, groups, restrictions ?? null] as unknown as JsonValue;
  return equalJson(rights(a), rights(b));
}

/** Of a few reasons each text is kept once. */
function readyReasonOf(conditions: JsonValue | undefined): string | undefined {
  if (!isJsonArray(conditions)) return undefined;
  const ready = conditions.find((condition) => isJsonObject(condition) && condition["type"] === "Ready");
  const reason = isJsonObject(ready) ? ready["reason"] : undefined;
  return READY_REASONS.find((known) => known === reason);
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");

const timeOf = (value: JsonValue | undefined): number | undefined =>
  typeof value === "string" ? parseTimestamp(value) : undefined;

const textsOf = (value: JsonValue | undefined): readonly string[] =>
  isJsonArray(value) && value.length > 0 ? value.filter((item) => typeof item === "string") : NONE;

// Makes records of stored access keys.

/** A key, and once more for each value that a rotation replaced. */
export type ReadAccessKey = { readonly record: AccessKeyRecord; readonly retired: readonly AccessKeyRecord[] };

/** `known` is what there was under the name before; `learned` is when a key that was not known was learned. */
export type AccessKeyReader = (object: CachedObject, learned: ClockEpoch, known?: ReadAccessKey) => ReadAccessKey;

/** For the records under `prefix`. */
export function createAccessKeyReader(prefix: string, names: RestrictionNames, endOf: Expiry): AccessKeyReader {
  const readStored = createStoredAccessKeyReader(prefix);
  const shared = sharingOrigins();
  return (object, learned, known) => {
    const read = readStored(object);
    const stored = { ...read, sealed: { ...read.sealed, origins: shared(read.sealed.origins) } };
    const make = (previous: AccessKeyRecord | undefined, value?: RetiredValue): AccessKeyRecord =>
      new AccessKeyRecord(stored, names, endOf, previous?.epoch ?? learned, known?.record, value);
    const isSame = known !== undefined && stored.metadata.uid === known.record.uid;
    const record = make(isSame ? known.record : undefined);
    const previousOf = ({ id }: RetiredValue) => known?.retired.find((before) => before.id === id);
    const retired =
      record.retired.length > 0 ? record.retired.map((value) => make(previousOf(value), value)) : NO_VALUES;
    return { record, retired };
  };
}

/** Most keys go back to one of few others: their list is kept once. */
function sharingOrigins(): (origins: readonly KeyOrigin[]) => readonly KeyOrigin[] {
  const known = new Map<string, readonly KeyOrigin[]>();
  return (origins) => {
    const [first, ...others] = origins;
    if (first === undefined || others.length > 0) return origins;
    const key = `${first.uid}/${first.serial}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size >= MAX_SHARED) known.clear();
    known.set(key, origins);
    return origins;
  };
}

const MAX_SHARED = 1_000;

const NO_VALUES: readonly AccessKeyRecord[] = [];

// The fields of a stored access key that the index needs: a start reads all keys, and most of each is irrelevant here.

/** What an AccessKeyRecord is made of. Nothing else of the object is there. */
const RECORD_MEMBERS = {
  metadata: { uid: true, creationTimestamp: true, deletionTimestamp: true },
  spec: {
    user: true,
    team: true,
    subject: true,
    groups: true,
    type: true,
    disabled: true,
    ttl: true,
    ttlAfterLastActivity: true,
    scope: true,
    rules: true,
    allowPlatformCli: true,
  },
  status: { lastActivity: true, conditions: true },
} as const satisfies MemberSelection;

type Members<Name extends string> = { readonly [name in Name]?: JsonValue };

export type StoredAccessKey = {
  readonly revision: number;
  readonly name: string;
  readonly metadata: Members<keyof typeof RECORD_MEMBERS.metadata>;
  readonly spec: Members<keyof typeof RECORD_MEMBERS.spec>;
  readonly status: Members<keyof typeof RECORD_MEMBERS.status>;
  readonly sealed: SealedAccessKey;
};

/** For one index of the records under `prefix`: texts that key after key repeats are kept once. */
export function createStoredAccessKeyReader(prefix: string): (cached: CachedObject) => StoredAccessKey {
  const read = createMemberReader(RECORD_MEMBERS);
  // What is sealed is short: parsing all of it takes less than stepping through it.
  return (cached) => toStoredAccessKey(cached, prefix, cached.read(read));
}

/** `object` is the served part of the key, as far as the record needs it. */
export function toStoredAccessKey(cached: CachedObject, prefix: string, object: JsonObject): StoredAccessKey {
  return {
    revision: cached.revision,
    name: cached.key.slice(prefix.length),
    metadata: objectOf(object["metadata"]),
    spec: objectOf(object["spec"]),
    status: objectOf(object["status"]),
    sealed: readSealedAccessKey(cached.decodeSealed()),
  };
}

const objectOf = (value: JsonValue | undefined): JsonObject => (isJsonObject(value) ? value : {});
