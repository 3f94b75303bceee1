// Uniqueness of values that clients have chosen for keys: one record per value, under its keyed hash. The store creates each record once, so that of
// two concurrent keys with one value only one gets it, on any server.

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { Revision, Storage, StoredEntry } from "@postern/apiserver/storage/storage";
import { isConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import { type FollowedAccounts, fullAccountError } from "../../../foundation/store/record-accounts.ts";
import { type AccessKeyOwner, accountOfOwner } from "../access-key-owner.ts";
import { readSealedAccessKey } from "../record/sealed-access-key.ts";
import type { AccessKeySecrets, KeptAccessKey } from "../secrets/access-key-secrets.ts";

/** The key that wants a value, or has it. */
export type Claimant = {
  readonly uid: string;
  readonly name: string;
  /** With its UID at that time: a later owner with the same name is another one. */
  readonly owner: (AccessKeyOwner & { readonly uid: string | undefined }) | undefined;
};

export type ValueClaim = Claimant & {
  /** Milliseconds since the epoch. */
  readonly claimedAt: number;
  /** The key was written with it. */
  readonly isKept: boolean;
  /** The value is compromised, as reported or by a rotation: it cannot be used again. */
  readonly isLeaked: boolean;
  /** Since when no key has the value, in milliseconds since the epoch. */
  readonly releasedAt: number | undefined;
};

/** Value that was taken for a key that is about to be written. */
export type TakenValue = { keep(): Promise<void>; release(): Promise<void> };

export type ValueClaims = {
  /** Whether the value is another key's, or was. Reads the store as often in any case. */
  isTaken(value: string, claimant: Claimant): Promise<boolean>;
  /**
   * Undefined where another key has it, had it, or was faster. Rejects with the ApiError 403 if as many values as allowed are remembered for the
   * owner: a value that is forgotten could be taken by others.
   */
  take(value: string, claimant: Claimant): Promise<TakenValue | undefined>;
  /** Rejects with the same ApiError as `take`, and takes nothing. */
  checkRoom(value: string, claimant: Claimant): Promise<void>;
};

/** A claim whose key was not written within this time never will be: its server died in between. */
export const PENDING_MS = 2 * 60_000;
const MAX_OF_OWNER = 5_000;
const ATTEMPTS = 10;

export function createValueClaims(deps: {
  /** Prefix of the claims. */
  readonly prefix: string;
  /** How many claims owners have. Default: none. */
  readonly accounts?: Pick<FollowedAccounts, "of" | "isFull" | "during" | "has">;
  /** Most claims of one owner. Default: 5,000. */
  readonly maxOfOwner?: number;
  /** Prefix of the records of access keys. */
  readonly keyPrefix: string;
  readonly storage: Pick<Storage, "get" | "create" | "update" | "delete">;
  readonly secrets: Pick<AccessKeySecrets, "digestsOf">;
  /** So long the value of a key that is gone stays that of its owner. */
  readonly rememberMs: number;
  readonly clock: Pick<Clock, "now">;
}): ValueClaims {
  const { prefix, keyPrefix, storage, secrets, rememberMs, clock } = deps;
  const { accounts, maxOfOwner = MAX_OF_OWNER } = deps;
  const refuseFull = (owner: Claimant["owner"]): void => {
    if (owner === undefined || accounts === undefined) return;
    const account = accountOfOwner(owner);
    if (!accounts.isFull(account, { objects: maxOfOwner, bytes: Number.POSITIVE_INFINITY })) return;
    throw fullAccountError(
      `${accounts.of(account).objects} values that were chosen for access keys of the ${owner.kind} ${JSON.stringify(owner.name)} are remembered, and the limit is ${maxOfOwner}: leave spec.key out, so that the server generates a value`,
    );
  };
  const createFor = (owner: Claimant["owner"], key: string, value: Uint8Array): Promise<Revision> => {
    if (owner === undefined || accounts === undefined) return storage.create(key, value);
    refuseFull(owner);
    const account = accountOfOwner(owner);
    return accounts.during(
      account,
      () => accounts.has(key),
      () => storage.create(key, value),
    );
  };
  /** In one order on all servers, so that of two that take the same ones, one is first with all. */
  const placesOf = (value: string): readonly string[] =>
    secrets
      .digestsOf(value)
      .map((digest) => prefix + Buffer.from(digest).toString("base64url"))
      .sort();

  const mayTake = async (entry: StoredEntry, claimant: Claimant): Promise<boolean> => {
    const claim = decodeClaim(entry);
    const now = clock.now();
    // A key that leaked its value and has another may not go back to it either.
    if (claim.uid === claimant.uid) return !claim.isLeaked;
    if (claim.releasedAt !== undefined && claim.releasedAt + rememberMs <= now) return true;
    if (claim.isLeaked || !isSameOwner(claim.owner, claimant.owner)) return false;
    // One's own value of a key that is gone may come back: manifests are applied again.
    if (!claim.isKept && claim.claimedAt + PENDING_MS > now) return false;
    const record = await storage.get(keyPrefix + claim.name);
    return record === undefined || !holds(CachedObject.fromEntry(record), claim.uid, entry.key.slice(prefix.length));
  };

  async function takeOne(key: string, claimant: Claimant): Promise<TakenValue | undefined> {
    const claim = { ...claimant, claimedAt: clock.now(), isKept: false, isLeaked: false, releasedAt: undefined };
    const value = encodeClaim(claim);
    for (let attempt = 1; ; attempt++) {
      let previous: StoredEntry | undefined;
      let revision: Revision;
      try {
        previous = await storage.get(key);
        if (previous === undefined) revision = await createFor(claimant.owner, key, value);
        else if (await mayTake(previous, claimant)) revision = await storage.update(key, value, previous.revision);
        else return undefined;
      } catch (error) {
        if (attempt === ATTEMPTS || !isConflict(error)) throw error;
        continue;
      }
      return {
        // Where another request, or a sweep, has changed the claim since, it holds as they left it.
        async keep() {
          await unlessConflict(storage.update(key, encodeClaim({ ...claim, isKept: true }), revision));
        },
        async release() {
          await unlessConflict(
            previous === undefined ? storage.delete(key, revision) : storage.update(key, previous.value, revision),
          );
        },
      };
    }
  }

  return {
    async isTaken(value, claimant) {
      const entries = await Promise.all(placesOf(value).map((key) => storage.get(key)));
      const free = await Promise.all(entries.map((entry) => entry === undefined || mayTake(entry, claimant)));
      return free.includes(false);
    },
    async checkRoom(value, { owner }) {
      const entries = await Promise.all(placesOf(value).map((key) => storage.get(key)));
      // The place of a value that is remembered already is no further one.
      if (entries.includes(undefined)) refuseFull(owner);
    },
    async take(value, claimant) {
      const taken: TakenValue[] = [];
      const release = async (): Promise<void> => {
        for (const one of taken.reverse()) await one.release();
      };
      for (const key of placesOf(value)) {
        const one = await takeOne(key, claimant);
        if (one === undefined) {
          await release();
          return undefined;
        }
        taken.push(one);
      }
      return {
        async keep() {
          for (const one of taken) await one.keep();
        },
        release,
      };
    },
  };
}

/** Whether a stored key has this uid, and has or had the value with this digest, as far as its record shows. */
function holds(record: CachedObject, uid: string, digest: string): boolean {
  if (record.decode().metadata.uid !== uid) return false;
  const { key, retired } = readSealedAccessKey(record.decodeSealed());
  const values: readonly KeptAccessKey[] = key === undefined ? retired : [key, ...retired];
  return values.some((value) => value.digest === digest);
}

/** The owner among whose values a claim counts. */
export function accountOfClaim(object: CachedObject): string | undefined {
  const { owner } = readClaim(object);
  return owner === undefined ? undefined : accountOfOwner(owner);
}

const isSameOwner = (one: Claimant["owner"], other: Claimant["owner"]): boolean =>
  one !== undefined &&
  other !== undefined &&
  one.kind === other.kind &&
  one.name === other.name &&
  one.uid === other.uid;

export const encodeClaim = ({ uid, name, owner, claimedAt, isKept, isLeaked, releasedAt }: ValueClaim): Uint8Array =>
  encodeStoredValue({
    apiVersion: "v1",
    kind: "AccessKeyValue",
    metadata: { name, uid },
    claim: {
      claimedAt,
      ...(isKept ? { isKept } : {}),
      ...(isLeaked ? { isLeaked } : {}),
      ...(releasedAt === undefined ? {} : { releasedAt }),
      ...(owner === undefined
        ? {}
        : { owner: { kind: owner.kind, name: owner.name, ...(owner.uid === undefined ? {} : { uid: owner.uid }) } }),
    },
  });

export const decodeClaim = (entry: StoredEntry): ValueClaim => readClaim(CachedObject.fromEntry(entry));

export function readClaim(object: CachedObject): ValueClaim {
  const { metadata, claim } = object.decode();
  const { claimedAt, isKept, isLeaked, releasedAt, owner } = isJsonObject(claim) ? claim : {};
  return {
    uid: metadata.uid ?? "",
    name: metadata.name ?? "",
    owner: readOwner(owner),
    claimedAt: typeof claimedAt === "number" ? claimedAt : 0,
    isKept: isKept === true,
    isLeaked: isLeaked === true,
    releasedAt: typeof releasedAt === "number" ? releasedAt : undefined,
  };
}

function readOwner(value: JsonValue | undefined): ValueClaim["owner"] {
  if (!isJsonObject(value)) return undefined;
  const { kind, name, uid } = value;
  if ((kind !== "user" && kind !== "team" && kind !== "subject") || typeof name !== "string") return undefined;
  return { kind, name, uid: typeof uid === "string" ? uid : undefined };
}
