// The access keys in memory, with constant-time lookup and notifications when a key becomes invalid.

import { restrictionNames } from "@postern/api/access-key-restrictions";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { Directory } from "../../directory/directory.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import { type KeyGrants, NO_GRANTS } from "../key-grant.ts";
import type { LastActivity } from "../last-use/last-activity.ts";
import { createAccessKeyReader } from "../record/access-key-reader.ts";
import { AccessKeyRecord } from "../record/access-key-record.ts";
import type { RotationMarks } from "../rotation/rotation-marks.ts";
import type { AccessKeySecrets } from "../secrets/access-key-secrets.ts";
import { MIN_KEY_LENGTH } from "../secrets/find-keys-in-text.ts";
import { GoodKeys } from "../validity/good-keys.ts";
import { createKeyExpirations, type KeyExpirations, MAX_ANCESTORS } from "../validity/key-expirations.ts";
import { createKeyRefusal } from "../validity/key-validity.ts";
import type { KeyRefusal } from "../validity/ready-reasons.ts";
import type { AccessKeyIndex } from "./access-key-index.ts";
import type { CatchUp } from "./catch-up.ts";
import { LoadedAccessKeys } from "./loaded-access-keys.ts";
import { RevocationWatches } from "./revocation-watches.ts";

export type LiveAccessKeyIndex = AccessKeyIndex &
  Pick<KeyExpirations, "ownExpiration" | "hasEnded" | "graceLeft"> &
  Disposable & {
    /** Every record, whether valid or not; safe while records are added and removed. Reads those immediately that have not been read yet. */
    all(): IterableIterator<AccessKeyRecord>;
    /** As byName, with what only the parts that look after keys need. */
    recordOf(name: string): AccessKeyRecord | undefined;
  };

/** Longer values cannot belong to a key, and are not hashed. */
const MAX_PRESENTED_LENGTH = 4096;

/** Begins to follow the view at once; the index is empty until the cache is ready. */
export function createAccessKeyIndex(
  { configuration, names, epochs, runtime }: Pick<Foundation, "configuration" | "names" | "epochs" | "runtime">,
  /** The records of `ownedaccesskeys`. */
  { view, prefix }: ViewPrefix,
  needs: {
    readonly directory: Directory;
    readonly secrets: AccessKeySecrets;
    readonly activity: LastActivity;
    readonly rotationMarks: RotationMarks;
    /** Default: there are no trust rules. */
    readonly grants?: KeyGrants | undefined;
    /** Default: memory shows everything that has been written. */
    readonly catchUp?: CatchUp;
  },
): LiveAccessKeyIndex {
  const { directory, secrets, activity, rotationMarks, grants = NO_GRANTS, catchUp } = needs;
  const { clock, random, scheduler } = runtime;
  const { maxTTLSeconds } = configuration.accessKeys;
  /** Until the view is followed again, no key counts as valid, and all are refused. */
  let isCurrent = false;

  const ends = createKeyExpirations({ byUid: (uid) => keys.byUid(uid), activity, epochs, maxTTLSeconds });
  const keys = new LoadedAccessKeys(
    prefix,
    createAccessKeyReader(prefix, restrictionNames(names.name), ends.expirationWithAncestors),
    Buffer.from(random.bytes(4)).readInt32LE(),
  );
  const refusalOfKnown = createKeyRefusal({ table: keys, ends, directory, rotationMarks, epochs, grants });

  const good = new GoodKeys({
    byUid: (uid) => keys.byUid(uid),
    endOf: ends.expirationWithAncestors,
    epochs,
    directory,
  });

  const stateOf = (key: AccessKeyState): KeyRefusal | undefined => {
    if (!isCurrent) return LOADING;
    if (!(key instanceof AccessKeyRecord)) return refusalOfKnown(key);
    if (good.has(key)) return undefined;
    const refusal = refusalOfKnown(key);
    // Of a million keys, only those in use are worth it.
    if (refusal === undefined && activity.of(key.uid) !== undefined) good.add(key);
    return refusal;
  };
  const refusalOf = (key: AccessKeyState): string | undefined => stateOf(key)?.message;

  const watches = new RevocationWatches({
    find: (id) => keys.byId(id),
    isRefused: (record) => refusalOf(record) !== undefined,
    endOf: ends.expirationWithAncestors,
    ownerFingerprint: (record) => ownerFingerprint(record, directory),
    clock,
    scheduler,
  });

  const recheckDescendants = (uid: string, depth = 0): void => {
    if (watches.size === 0 || depth > MAX_ANCESTORS) return;
    for (const child of keys.childrenOf(uid)) {
      watches.recheck(child.id);
      recheckDescendants(child.uid, depth + 1);
    }
  };

  /** `values`: the ones that the key has and had. */
  const recheck = (uid: string, values: readonly AccessKeyRecord[]): void => {
    // Children that have not been read yet are found from below.
    if (!keys.isRead) {
      watches.recheckAll();
      return;
    }
    for (const { id } of values) watches.recheck(id);
    recheckDescendants(uid);
  };

  const following = followView({ view, prefix }, scheduler, {
    replace(objects) {
      keys.replace(objects, epochs.current());
      good.changed();
      isCurrent = true;
      watches.recheckAll();
    },
    put(object, _, content) {
      const { record, known } = keys.put(object, epochs.current(), content);
      good.changed();
      // Anything derived from a key that never existed is invalid.
      if (known === undefined) return;
      // Keys that have an ancestor without depending on it are found by themselves only.
      if (known.record.childrenFrom !== record.childrenFrom) watches.recheckAll();
      else recheck(record.uid, [known.record, ...known.retired]);
    },
    delete({ key }) {
      const removed = keys.remove(key.slice(prefix.length));
      good.changed();
      if (removed === undefined) return;
      const { uid } = removed.record;
      activity.forget(removed.record);
      rotationMarks.forget(uid);
      recheck(uid, [removed.record, ...removed.retired]);
    },
    lost() {
      isCurrent = false;
    },
  });
  const markChanges = rotationMarks.onChange((uid) => {
    good.changed();
    const record = keys.byUid(uid);
    if (record !== undefined) recheck(uid, [record, ...keys.retiredOf(record.name)]);
  });
  const directoryChanges = directory.onChange(() => watches.recheckAll());
  const grantChanges = grants.onChange(() => watches.recheckAll());

  return {
    find: (presented) => findPresented(presented, keys, secrets),
    whenFound(presented, address = "") {
      if (presented.length > MAX_PRESENTED_LENGTH) return undefined;
      if (keys.isRead) {
        if (catchUp === undefined) return undefined;
        const id = secrets.format.idOf(presented);
        // Clients choose no shorter ones.
        if (id === undefined && presented.length < MIN_KEY_LENGTH) return undefined;
        const record = id === undefined ? findPresented(presented, keys, secrets) : keys.byId(id);
        // A refused key may have been enabled, or its owner.
        const isGood = record !== undefined && refusalOf(record) === undefined;
        return isGood ? undefined : catchUp(address, { isFormless: id === undefined });
      }
      const known = keys.byIdAtHand(secrets.format.idOf(presented) ?? "");
      const isFound = known?.structured === true && known.parentUids.length === 0 && secrets.matches(known, presented);
      return isFound ? undefined : keys.whenRead();
    },
    get valueVersion() {
      return keys.isRead ? keys.digestVersion : undefined;
    },
    isChosenValue(text) {
      if (!keys.isRead) return !/[/.]/.test(text) && /\d/.test(text);
      return keys.hasDigests && secrets.digestsOf(text).some((digest) => keys.byDigest(digest) !== undefined);
    },
    mayHaveChosenValues: () => !keys.isRead || keys.hasDigests,
    byId: (id) => keys.byId(id),
    byName: (name) => keys.byName(name),
    byUid: (uid) => keys.byUid(uid),
    valuesOf(name) {
      const record = keys.byName(name);
      return record === undefined ? [] : [record, ...keys.retiredOf(name)].map(({ kept }) => kept);
    },
    ownedBy: (owner) => keys.ownedBy(owner),
    usageOf: (owner) => keys.usageOf(owner),
    childrenOf: (uid) => keys.childrenOf(uid),
    scopedTo: (project) => keys.scopedTo(project),
    refusalOf,
    stateOf,
    onRevoked: (id, listener) => watches.add(id, listener),
    all: () => keys.all(),
    get isRead() {
      return keys.isRead;
    },
    whenRead: () => keys.whenRead(),
    recordOf: (name) => keys.byName(name),
    ownExpiration: ends.ownExpiration,
    hasEnded: ends.hasEnded,
    graceLeft: ends.graceLeft,
    [Symbol.dispose]() {
      isCurrent = false;
      following[Symbol.dispose]();
      directoryChanges[Symbol.dispose]();
      grantChanges[Symbol.dispose]();
      markChanges[Symbol.dispose]();
      watches[Symbol.dispose]();
      keys[Symbol.dispose]();
    },
  };
}

const LOADING: KeyRefusal = { reason: "Unknown", message: "the keys are being loaded" };

function findPresented(
  presented: string,
  keys: LoadedAccessKeys,
  { format, matches, isAmong, digestsOf }: AccessKeySecrets,
): AccessKeyState | undefined {
  if (presented.length > MAX_PRESENTED_LENGTH) return undefined;
  const id = format.idOf(presented);
  const found = id === undefined ? undefined : keys.byId(id);
  const known = found?.structured === true ? found : undefined;
  // Until all keys are read it is unknown whether there are digests, and only generated values are looked up: see whenFound.
  if (!keys.isRead && matches(known, presented)) return known;
  // Hashed as often in any case, so that an unknown id takes as long as a wrong secret, and that as long as the right one.
  if (!keys.hasDigests) return matches(known, presented) ? known : undefined;
  // A client may have brought a value that looks like one of ours.
  const digests = digestsOf(presented);
  if (known !== undefined && isAmong(known, digests)) {
    return digests.some((digest) => keys.isShared(digest, known)) ? undefined : known;
  }
  for (const digest of digests) {
    const record = keys.byDigest(digest);
    if (record !== undefined) return record;
  }
  return undefined;
}

/** Changes when what the directory gives the holder of a key does. */
function ownerFingerprint({ owner }: AccessKeyRecord, directory: Directory): string {
  if (owner.kind !== "user") return "";
  const user = directory.user(owner.name);
  return JSON.stringify([
    user?.subject,
    user?.groups,
    user?.sourceRanges,
    directory.teamsOf(owner.name).map(({ name }) => name),
  ]);
}
