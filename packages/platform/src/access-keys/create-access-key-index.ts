// The access keys in memory: found by what a request carries in constant time, and watched for the moment they stop being good.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { CacheEvent, CacheView, LoadReader } from "@postern/apiserver/cache/watch-cache";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { Revision } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import type { Directory } from "../directory/directory.ts";
import type { AccessKeyIndex } from "./access-key-index.ts";
import { AccessKeyRecord } from "./access-key-record.ts";
import type { RestrictionNames } from "./access-key-restrictions.ts";
import type { AccessKeySecrets } from "./access-key-secrets.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import { AccessKeyTable } from "./access-key-table.ts";
import { createKeyEnds, type KeyEnds, MAX_ANCESTORS } from "./key-ends.ts";
import { createKeyRefusal } from "./key-refusal.ts";
import type { LastActivity } from "./last-activity.ts";
import { RevocationWatches } from "./revocation-watches.ts";
import { createRotationMarks, type RotationMarks } from "./rotation/rotation-marks.ts";
import type { RetiredValue } from "./sealed-access-key.ts";
import { createStoredAccessKeyReader } from "./stored-access-key.ts";

export type AccessKeyIndexOptions = {
  /** Of the records of `ownedaccesskeys`, with its prefix. */
  readonly view: CacheView;
  readonly prefix: string;
  /** Gives the records of the view while they are being loaded. */
  readonly readAhead: (reader: LoadReader) => Disposable;
  readonly directory: Directory;
  readonly secrets: AccessKeySecrets;
  readonly restrictionNames: RestrictionNames;
  readonly activity: LastActivity;
  readonly epochs: ClockEpochs;
  /** Default: nothing is known of rotations but what is written. */
  readonly rotationMarks?: RotationMarks;
  /** The setting accessKeys.maxTTLSeconds. */
  readonly maxTTLSeconds: number;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
};

export type LiveAccessKeyIndex = AccessKeyIndex &
  Pick<KeyEnds, "ownEnd" | "hasEnded"> &
  Disposable & {
    /** Every record, whether or not it is good; safe while records come and go. */
    all(): IterableIterator<AccessKeyRecord>;
    /** As byName, with what only the parts that look after keys need. */
    recordOf(name: string): AccessKeyRecord | undefined;
  };

/** Longer ones are nobody's, and are not hashed. */
const MAX_PRESENTED_LENGTH = 4096;
const RETRY_DELAY_MS = 50;

/** Begins to follow the view at once; the index is empty until the cache is ready. */
export function createAccessKeyIndex(options: AccessKeyIndexOptions): LiveAccessKeyIndex {
  const {
    view,
    prefix,
    readAhead,
    directory,
    secrets,
    restrictionNames,
    activity,
    epochs,
    maxTTLSeconds,
    clock,
    scheduler,
  } = options;
  const { rotationMarks = createRotationMarks() } = options;
  const table = new AccessKeyTable();
  const readStored = createStoredAccessKeyReader(prefix);
  let isCurrent = false;

  const ends = createKeyEnds({ byUid: (uid) => table.byUid(uid), activity, epochs, maxTTLSeconds });
  const refusalOfKnown = createKeyRefusal({ table, ends, directory, rotationMarks, epochs });

  const refusalOf = (key: AccessKeyState): string | undefined =>
    isCurrent ? refusalOfKnown(key) : "the keys are being loaded";

  const watches = new RevocationWatches({
    find: (id) => table.byId(id),
    isRefused: (record) => refusalOf(record) !== undefined,
    endOf: ends.endWithAncestors,
    ownerFingerprint: (record) => ownerFingerprint(record, directory),
    clock,
    scheduler,
  });

  const put = (object: CachedObject): void => {
    const known = table.byName(object.key.slice(prefix.length));
    const retiredBefore = known === undefined ? [] : table.retiredOf(known.name);
    const record = addTo(table, object, epochs.current(), known);
    if (known !== undefined) watches.recheck(known.id);
    for (const { id } of retiredBefore) watches.recheck(id);
    recheckDescendants(record.uid);
  };

  const addTo = (
    target: AccessKeyTable,
    object: CachedObject,
    learned: ClockEpoch,
    known?: AccessKeyRecord,
  ): AccessKeyRecord => {
    const stored = readStored(object);
    const make = (previous: AccessKeyRecord | undefined, value?: RetiredValue): AccessKeyRecord =>
      new AccessKeyRecord(stored, restrictionNames, ends.endWithAncestors, previous?.epoch ?? learned, known, value);
    const isSame = known !== undefined && stored.metadata.uid === known.uid;
    const record = make(isSame ? known : undefined);
    target.set(record, record.hasRetiredValues ? retiredRecords(record, known, make) : undefined);
    return record;
  };

  const retiredRecords = (
    { retired }: AccessKeyRecord,
    known: AccessKeyRecord | undefined,
    make: (previous: AccessKeyRecord | undefined, value: RetiredValue) => AccessKeyRecord,
  ): readonly AccessKeyRecord[] => {
    const before = known === undefined ? [] : table.retiredOf(known.name);
    const previousOf = ({ id }: RetiredValue) => before.find((record) => record.id === id);
    return retired.map((value) => make(previousOf(value), value));
  };

  /** Looks again after what is known of a key's rotations, and is not in its record yet, has changed. */
  const recheckRotated = (uid: string): void => {
    const record = table.byUid(uid);
    if (record === undefined) return;
    for (const { id } of [record, ...table.retiredOf(record.name)]) watches.recheck(id);
    recheckDescendants(uid);
  };

  const remove = (object: CachedObject): void => {
    const name = object.key.slice(prefix.length);
    const retired = table.retiredOf(name);
    const record = table.remove(name);
    if (record === undefined) return;
    activity.forget(record.uid);
    rotationMarks.forget(record.uid);
    for (const { id } of [record, ...retired]) watches.recheck(id);
    recheckDescendants(record.uid);
  };

  const recheckDescendants = (uid: string, depth = 0): void => {
    if (watches.size === 0 || depth > MAX_ANCESTORS) return;
    for (const child of table.childrenOf(uid)) {
      watches.recheck(child.id);
      recheckDescendants(child.uid, depth + 1);
    }
  };

  const addAll = (target: AccessKeyTable, objects: readonly CachedObject[]): void => {
    const learned = epochs.current();
    for (const object of objects) addTo(target, object, learned);
  };
  let ahead = new AccessKeyTable();
  /** The changedRevision of what has been read ahead. */
  let readAt: Revision | undefined;
  // Of the first load only: later ones find most of it here already, and two of everything would take twice the memory.
  const reading = readAhead({
    begin() {
      ahead = new AccessKeyTable();
    },
    take: (objects) => addAll(ahead, objects),
    done() {
      table.become(ahead);
      ahead = new AccessKeyTable();
      readAt = view.changedRevision;
      reading[Symbol.dispose]();
    },
  });

  let subscription: Disposable | undefined;
  let disposed = false;
  /** Until the view is followed again nothing is known to be good, so everything is refused. */
  const follow = (): void => {
    if (disposed) return;
    const from = view.revision;
    if (readAt !== view.changedRevision) {
      table.become(new AccessKeyTable());
      addAll(table, view.list(prefix));
    }
    isCurrent = true;
    watches.recheckAll();
    subscription = view.subscribe(prefix, from, {
      events: (events) => applyEvents(events),
      error(error) {
        isCurrent = false;
        // The content of the view has been replaced already, so that nothing has to be waited for.
        if (error instanceof RevisionCompactedError) follow();
        else subscription = scheduler.schedule(RETRY_DELAY_MS, follow);
      },
    });
  };
  const applyEvents = (events: readonly CacheEvent[]): void => {
    for (const event of events) {
      if (event.type === "put") put(event.object);
      else remove(event.object);
    }
  };
  follow();
  const markChanges = rotationMarks.onChange(recheckRotated);
  const directoryChanges = directory.onChange(() => watches.recheckAll());

  return {
    find(presented) {
      if (presented.length > MAX_PRESENTED_LENGTH) return undefined;
      const id = secrets.format.idOf(presented);
      const known = id === undefined ? undefined : table.byId(id);
      if (known?.structured === true && secrets.matches(known, presented)) return known;
      // A client may have brought a value that looks like one of ours.
      // Hashed in any case: an unknown id takes as long as a wrong secret.
      const digests = known?.structured === true && !table.hasDigests ? [] : secrets.digestsOf(presented);
      for (const digest of digests) {
        const record = table.byDigest(digest);
        if (record !== undefined) return record;
      }
      return undefined;
    },
    byId: (id) => table.byId(id),
    byName: (name) => table.byName(name),
    byUid: (uid) => table.byUid(uid),
    ownedBy: (owner) => table.ownedBy(owner),
    childrenOf: (uid) => table.childrenOf(uid),
    refusalOf,
    onRevoked: (id, listener) => watches.add(id, listener),
    all: () => table.all(),
    recordOf: (name) => table.byName(name),
    ownEnd: ends.ownEnd,
    hasEnded: ends.hasEnded,
    [Symbol.dispose]() {
      disposed = true;
      isCurrent = false;
      reading[Symbol.dispose]();
      subscription?.[Symbol.dispose]();
      directoryChanges[Symbol.dispose]();
      markChanges[Symbol.dispose]();
      watches[Symbol.dispose]();
    },
  };
}

/** Changes when what the directory gives the holder of a key does. */
function ownerFingerprint({ owner }: AccessKeyRecord, directory: Directory): string {
  if (owner.kind !== "user") return "";
  const user = directory.user(owner.name);
  return JSON.stringify([user?.subject, user?.groups, directory.teamsOf(owner.name).map(({ name }) => name)]);
}
