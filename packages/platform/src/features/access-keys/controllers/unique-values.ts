// Maintains the claims of values that clients have chosen: each value of a key has a claim, whichever release wrote it. The claim of a deleted key
// records the deletion, and expires after a while.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createSweeper } from "@postern/apiserver/controllers/sweeper";
import type { Storage } from "@postern/apiserver/storage/storage";
import { putUnlessConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import { encodeClaim, PENDING_MS, readClaim, type ValueClaim } from "../chosen-values/unique-values.ts";
import type { LiveAccessKeyIndex } from "../index/create-access-key-index.ts";
import type { AccessKeyRecord } from "../record/access-key-record.ts";

const INTERVAL_MS = 60_000;

type Value = { readonly record: AccessKeyRecord; readonly digest: string; readonly isLeaked: boolean };

/** Sweeps as soon as all keys have been read, and from then on once a minute until it is disposed. */
export function createValueClaimController(deps: {
  readonly port: Omit<ControllerPort, "resources">;
  readonly keys: LiveAccessKeyIndex;
  readonly claims: ViewPrefix;
  readonly storage: Storage;
  /** The setting accessKeys.rememberValuesDays, in milliseconds. */
  readonly rememberMs: number;
}): Controller {
  const { port, keys, claims, storage, rememberMs } = deps;
  const { clock } = port.runtime;
  const begin = keys.whenRead();
  const claimOf = (digest: string): CachedObject | undefined => claims.view.get(claims.prefix + digest);

  const adopting = createSweeper<Value>(port, {
    intervalMs: INTERVAL_MS,
    begin,
    *items() {
      for (const record of keys.all()) yield* chosenValuesOf(record);
    },
    isOver({ record, digest, isLeaked }) {
      const object = claimOf(digest);
      if (object === undefined) return true;
      const claim = readClaim(object);
      // If two keys of an earlier release have one value, the first keeps the claim.
      return (
        claim.uid === record.uid && (!claim.isKept || claim.releasedAt !== undefined || (isLeaked && !claim.isLeaked))
      );
    },
    async remove({ record, digest, isLeaked }) {
      const { uid, name, owner, ownerUid } = record;
      const object = claimOf(digest);
      const claimedAt = object === undefined ? clock.now() : readClaim(object).claimedAt;
      const claim: ValueClaim = {
        uid,
        name,
        owner: { ...owner, uid: ownerUid },
        claimedAt,
        isKept: true,
        isLeaked: isLeaked || (object !== undefined && readClaim(object).isLeaked),
        releasedAt: undefined,
      };
      await putUnlessConflict(storage, claims.prefix + digest, encodeClaim(claim), object);
    },
    nameOf: ({ record }) => record.name,
  });

  const ending = createSweeper<CachedObject>(port, {
    intervalMs: INTERVAL_MS,
    begin,
    items: () => claims.view.list(claims.prefix),
    isOver(object) {
      const { uid, isKept, claimedAt, releasedAt } = readClaim(object);
      if (isHeld(uid, object.key.slice(claims.prefix.length))) return false;
      if (!isKept) return claimedAt + PENDING_MS <= clock.now();
      return releasedAt === undefined || releasedAt + rememberMs <= clock.now();
    },
    async remove(object) {
      const claim = readClaim(object);
      const isFirst = claim.isKept && claim.releasedAt === undefined;
      await unlessConflict(
        isFirst
          ? storage.update(object.key, encodeClaim({ ...claim, releasedAt: clock.now() }), object.revision)
          : storage.delete(object.key, object.revision),
      );
    },
    nameOf: (object) => readClaim(object).name,
  });

  function isHeld(uid: string, digest: string): boolean {
    const key = keys.byUid(uid);
    const record = key === undefined ? undefined : keys.recordOf(key.name);
    return record !== undefined && chosenValuesOf(record).some((value) => value.digest === digest);
  }

  return {
    async idle() {
      await Promise.all([adopting.idle(), ending.idle()]);
    },
    [Symbol.dispose]() {
      adopting[Symbol.dispose]();
      ending[Symbol.dispose]();
    },
  };
}

/** The current and retired values of a key that clients may have chosen. */
function chosenValuesOf(record: AccessKeyRecord): readonly Value[] {
  if (record.structured && record.retired.length === 0) return NONE;
  const values: Value[] = [];
  if (record.id !== "" && !record.structured) values.push({ record, digest: record.digest, isLeaked: record.isLeaked });
  for (const { structured, digest, serial } of record.retired) {
    if (!structured) values.push({ record, digest, isLeaked: serial < record.childrenFrom });
  }
  return values;
}

const NONE: readonly Value[] = [];
