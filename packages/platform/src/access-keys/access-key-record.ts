// A stored access key in the index: its visible state, and what determines its expiration.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ClockEpoch } from "@postern/apiserver/runtime/system-runtime";
import { type AccessKeyRestrictions, type RestrictionNames, restrictionsOf } from "../api/access-key-restrictions.ts";
import { ownerOf } from "./access-key-owner.ts";
import type { KeptAccessKey } from "./access-key-secrets.ts";
import type { AccessKeyOwner, AccessKeyState } from "./access-key-state.ts";
import type { KeyGrant } from "./key-grant.ts";
import type { KeyOrigin } from "./key-origins.ts";
import { READY_REASONS } from "./key-refusal.ts";
import { acceptedUntil, type RetiredValue } from "./sealed-access-key.ts";
import type { StoredAccessKey } from "./stored-access-key.ts";

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
  /** Seconds; 0: no end by itself. */
  readonly ttl: number;
  readonly countsFromActivity: boolean;
  /** Milliseconds since the epoch, as last written. */
  readonly lastActivity: number | undefined;
  /** The reason in the condition Ready of its status; undefined where there is none. */
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

  get hasRetiredValues(): boolean {
    return this.retired.length > 0;
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
    sameRights(a, b)
  );
}

/** Whether both let their bearers do the same, for as long as they are good. */
export function sameRights(a: AccessKeyRecord, b: AccessKeyRecord): boolean {
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
