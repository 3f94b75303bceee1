// A stored access key in the index, and how it is read: the fields that decide about it, and its expiration.

import {
  type AccessKeyRestrictions,
  type RestrictionNames,
  restrictionsOf,
} from "@postern/api/access-key-restrictions";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import { isJsonArray, isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { textOf, textsOf } from "@postern/apimachinery/json/lenient-json";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { StoredAmount } from "@postern/apiserver/cache/stored-usage";
import type { ClockEpoch } from "@postern/apiserver/runtime/clock-epochs";
import type { AccessKeyOwner } from "../access-key-owner.ts";
import { ownerOf } from "../access-key-owner.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import type { Audiences } from "../audiences.ts";
import { amountOfKey } from "../index/owner-usage.ts";
import type { KeyGrant } from "../key-grant.ts";
import type { KeyOrigin } from "../key-origins.ts";
import { type Confirmation, readConfirmation } from "../proofs/proof-of-possession.ts";
import type { KeptAccessKey } from "../secrets/access-key-secrets.ts";
import type { SourceRanges } from "../source-ranges.ts";
import { READY_REASONS } from "../validity/ready-reasons.ts";
import { acceptedUntil, type RetiredValue, readSealedAccessKey } from "./sealed-access-key.ts";
import type { StoredAccessKey } from "./stored-access-key.ts";

/** Computes the expiration of a record from what only the index knows: usage that is not written yet, ancestors and settings. */
export type Expiry = (record: AccessKeyRecord) => number | undefined;

const NOBODY: AccessKeyOwner = { kind: "subject", name: "" };

/** Members that many keys have alike: one object of them for all these keys. */
export type CommonMembers = Pick<AccessKeyRecord, (typeof COMMON_MEMBERS)[number]> & {
  /** Where the name begins in the key of the object. */
  readonly nameAt: number;
  readonly ringKey: string | undefined;
  readonly structured: boolean;
  readonly expiry: Expiry;
};

/** In the order in which they most often differ. */
export const COMMON_MEMBERS = [
  "readyReason",
  "type",
  "ttl",
  "defaultTTL",
  "origins",
  "restrictions",
  "sourceRanges",
  "audiences",
  "confirmation",
  "maxUses",
  "uses",
  "parentUids",
  "groups",
  "disabled",
  "deletedFrom",
  "isLocked",
  "isLeaked",
  "serial",
  "childrenFrom",
  "childrenRevokedAt",
  "isInert",
  "retired",
  "isRetiredValue",
  "acceptedUntil",
  "grant",
  "countsFromActivity",
  "lastActivity",
  "epoch",
] as const;

/** Gives the one object for all members that are the same. */
export type ShareMembers = (members: CommonMembers) => CommonMembers;

/** There may be a million: what of a key is seldom needed stays in its bytes, and what keys have alike is in one object. */
export class AccessKeyRecord implements AccessKeyState {
  readonly uid: string;
  readonly owner: AccessKeyOwner;
  /** The uid that its owner had when it became the owner. */
  readonly ownerUid: string | undefined;
  readonly createdAt: number;
  /** The revision of the last change of its permissions, or of how long it has them. */
  readonly revision: number;
  readonly #stored: CachedObject;
  readonly #common: CommonMembers;
  /** Read from the bytes when it is needed; of a retired value it is known. */
  #kept: KeptAccessKey | undefined;

  get amount(): StoredAmount {
    return amountOfKey(this.#stored);
  }

  /** `previous` is what was known under the name before; `retired` the value to see the key by, in place of the one it has. */
  constructor(
    { stored, name, metadata, spec, status, sealed }: StoredAccessKey,
    names: RestrictionNames,
    expiry: Expiry,
    epoch: ClockEpoch,
    previous?: AccessKeyRecord,
    retired?: RetiredValue,
    share: ShareMembers = (members) => members,
  ) {
    this.uid = textOf(metadata.uid);
    this.owner = ownerOf(spec) ?? NOBODY;
    this.ownerUid = sealed.owner?.uid;
    this.createdAt = timeOf(metadata.creationTimestamp) ?? 0;
    this.#stored = stored;
    this.#kept = retired;
    const value: KeptAccessKey | undefined = retired ?? sealed.key;
    this.#common = share({
      groups: textsOf(spec.groups),
      type: textOf(spec.type),
      restrictions: restrictionsOf(spec, names),
      sourceRanges: textsOf(spec.allowedSourceRanges),
      audiences: textsOf(spec.audiences),
      confirmation: readConfirmation(spec.confirmation),
      maxUses: spec.maxUses === undefined ? undefined : Number(spec.maxUses),
      uses: Number(status.uses ?? 0),
      disabled: spec.disabled === true,
      deletedFrom: deletedFromOf(metadata),
      isLocked: sealed.lockedAt !== undefined,
      isLeaked: sealed.leak?.isRefused === true,
      serial: retired?.serial ?? sealed.serial,
      origins: sealed.valueOrigins.length === 0 ? sealed.origins : [...sealed.origins, ...sealed.valueOrigins],
      childrenFrom: sealed.childrenFrom,
      childrenRevokedAt: sealed.childrenRevokedAt,
      isInert: retired !== undefined && (retired.serial < sealed.inertBelow || sealed.leak !== undefined),
      retired: sealed.retired,
      isRetiredValue: retired !== undefined,
      acceptedUntil: retired === undefined ? undefined : acceptedUntil(retired),
      parentUids: sealed.parents,
      grant: sealed.grant,
      defaultTTL: sealed.defaultTTL,
      ttl: spec.ttl === undefined ? (sealed.defaultTTL ?? 0) : Number(spec.ttl),
      countsFromActivity: spec.ttlAfterLastActivity === true,
      lastActivity: timeOf(status.lastActivity),
      readyReason: readyReasonOf(status.conditions),
      epoch,
      nameAt: stored.key.length - name.length,
      ringKey: value?.ringKey,
      structured: value?.structured ?? false,
      expiry,
    });
    this.revision = previous !== undefined && grantsTheSame(previous, this) ? previous.revision : stored.revision;
  }

  get name(): string {
    return this.#stored.key.slice(this.#common.nameAt);
  }

  get id(): string {
    return this.#kept?.id ?? this.#stored.peekSealed(BEFORE_ID) ?? this.#value?.id ?? "";
  }

  /** base64url of the keyed hash. */
  get digest(): string {
    return this.#value?.digest ?? "";
  }

  /** Found by the id in the value rather than by its digest. */
  get structured(): boolean {
    return this.#common.structured;
  }

  /** The key of the ring that it is under; undefined: the ring's first. */
  get ringKey(): string | undefined {
    return this.#common.ringKey;
  }

  get kept(): KeptAccessKey {
    const { id, digest, ringKey, structured } = this;
    return { id, digest, ...(ringKey === undefined ? {} : { ringKey }), structured };
  }

  /** The revision of the last write. */
  get writtenRevision(): number {
    return this.#stored.revision;
  }

  get expiresAt(): number | undefined {
    return this.#common.expiry(this);
  }

  get groups(): readonly string[] {
    return this.#common.groups;
  }

  get type(): string {
    return this.#common.type;
  }

  get restrictions(): AccessKeyRestrictions | undefined {
    return this.#common.restrictions;
  }

  get sourceRanges(): SourceRanges {
    return this.#common.sourceRanges;
  }

  get audiences(): Audiences {
    return this.#common.audiences;
  }

  get confirmation(): Confirmation {
    return this.#common.confirmation;
  }

  get maxUses(): number | undefined {
    return this.#common.maxUses;
  }

  get uses(): number {
    return this.#common.uses;
  }

  get disabled(): boolean {
    return this.#common.disabled;
  }

  /** While it is being deleted: milliseconds since the epoch at which its grace period ends; 0 without one. */
  get deletedFrom(): number | undefined {
    return this.#common.deletedFrom;
  }

  /** A retired value of it was used after its end. */
  get isLocked(): boolean {
    return this.#common.isLocked;
  }

  /** The current value of the key was reported as leaked, and is refused. */
  get isLeaked(): boolean {
    return this.#common.isLeaked;
  }

  get serial(): number {
    return this.#common.serial;
  }

  get origins(): readonly KeyOrigin[] {
    return this.#common.origins;
  }

  get childrenFrom(): number {
    return this.#common.childrenFrom;
  }

  /** When that was last raised, in milliseconds since the epoch. */
  get childrenRevokedAt(): number | undefined {
    return this.#common.childrenRevokedAt;
  }

  get isInert(): boolean {
    return this.#common.isInert;
  }

  get retired(): readonly RetiredValue[] {
    return this.#common.retired;
  }

  get isRetiredValue(): boolean {
    return this.#common.isRetiredValue;
  }

  /** For a retired value: milliseconds since the epoch until which it is accepted. */
  get acceptedUntil(): number | undefined {
    return this.#common.acceptedUntil;
  }

  get parentUids(): readonly string[] {
    return this.#common.parentUids;
  }

  get grant(): KeyGrant | undefined {
    return this.#common.grant;
  }

  get defaultTTL(): number | undefined {
    return this.#common.defaultTTL;
  }

  /** Seconds; 0: never expires. */
  get ttl(): number {
    return this.#common.ttl;
  }

  get countsFromActivity(): boolean {
    return this.#common.countsFromActivity;
  }

  /** Milliseconds since the epoch, as last written. */
  get lastActivity(): number | undefined {
    return this.#common.lastActivity;
  }

  /** The reason in its condition Ready; undefined without one. */
  get readyReason(): string | undefined {
    return this.#common.readyReason;
  }

  /** As of then it has ended: a clock that is set back since does not make it valid again. */
  get isMarkedExpired(): boolean {
    return this.#common.readyReason === "Expired" && !this.#common.isRetiredValue;
  }

  /** The epoch of the clock in which its times were learned. */
  get epoch(): ClockEpoch {
    return this.#common.epoch;
  }

  get #value(): KeptAccessKey | undefined {
    this.#kept ??= readSealedAccessKey(this.#stored.decodeSealed()).key;
    return this.#kept;
  }
}

/** Start of the sealed part of a key; the id of the key follows. */
export const BEFORE_ID = Buffer.from('{"key":{"id":"');

/** Whether only members without effect on permissions differ, such as the activity: everything derived from the other record is still valid. */
export function grantsTheSame(a: AccessKeyRecord, b: AccessKeyRecord): boolean {
  return (
    a.uid === b.uid &&
    a.id === b.id &&
    a.type === b.type &&
    a.maxUses === b.maxUses &&
    a.disabled === b.disabled &&
    a.deletedFrom === b.deletedFrom &&
    a.isLocked === b.isLocked &&
    a.isLeaked === b.isLeaked &&
    a.childrenFrom === b.childrenFrom &&
    a.isInert === b.isInert &&
    a.ttl === b.ttl &&
    a.isMarkedExpired === b.isMarkedExpired &&
    a.countsFromActivity === b.countsFromActivity &&
    samePermissions(a, b)
  );
}

/** Whether both allow their bearers the same, while they are valid. */
export function samePermissions(a: AccessKeyRecord, b: AccessKeyRecord): boolean {
  const rights = ({
    owner,
    ownerUid,
    groups,
    restrictions,
    sourceRanges,
    audiences,
    confirmation,
  }: AccessKeyRecord) => [owner, ownerUid ?? null, groups, restrictions ?? null, sourceRanges, audiences, confirmation];
  return equalJson(rights(a), rights(b));
}

/** There are few reasons: each text is kept once. */
function readyReasonOf(conditions: JsonValue | undefined): string | undefined {
  if (!isJsonArray(conditions)) return undefined;
  const ready = conditions.find((condition) => isJsonObject(condition) && condition["type"] === "Ready");
  const reason = isJsonObject(ready) ? ready["reason"] : undefined;
  return READY_REASONS.find((known) => known === reason);
}

const timeOf = (value: JsonValue | undefined): number | undefined =>
  typeof value === "string" ? parseTimestamp(value) : undefined;

/** Without a grace period the clock of the server that deleted it does not matter. */
function deletedFromOf({
  deletionTimestamp,
  deletionGracePeriodSeconds,
}: StoredAccessKey["metadata"]): number | undefined {
  if ((deletionTimestamp ?? null) === null) return undefined;
  return Number(deletionGracePeriodSeconds ?? 0) > 0 ? timeOf(deletionTimestamp) : 0;
}
