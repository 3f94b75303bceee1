// The access keys in memory: found by what a request carries in constant time, and watched for the moment they stop being good.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { CacheEvent, CacheView } from "@postern/apiserver/cache/watch-cache";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import type { Directory } from "../directory/directory.ts";
import type { AccessKeyIndex } from "./access-key-index.ts";
import { AccessKeyRecord } from "./access-key-record.ts";
import type { RestrictionNames } from "./access-key-restrictions.ts";
import type { AccessKeySecrets } from "./access-key-secrets.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import { AccessKeyTable } from "./access-key-table.ts";
import { isWithin } from "./is-within.ts";
import { endOfLife } from "./key-lifetime.ts";
import type { LastActivity } from "./last-activity.ts";
import { RevocationWatches } from "./revocation-watches.ts";
import { createRotationMarks, type RotationMarks } from "./rotation/rotation-marks.ts";
import type { RetiredValue } from "./sealed-access-key.ts";

export type AccessKeyIndexOptions = {
  /** Of the records of `ownedaccesskeys`, with its prefix. */
  readonly view: CacheView;
  readonly prefix: string;
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
  Disposable & {
    /** Every record, whether or not it is good; safe while records come and go. */
    all(): IterableIterator<AccessKeyRecord>;
    /** As byName, with what only the parts that look after keys need. */
    recordOf(name: string): AccessKeyRecord | undefined;
    /** When a record ends by its own life, without what its ancestors' does to it. */
    ownEnd(record: AccessKeyRecord): number | undefined;
    /** Whether that was at least `graceMs` ago. What has ended does not begin again because the clock is set back. */
    hasEnded(record: AccessKeyRecord, graceMs?: number): boolean;
  };

/** Longer ones are nobody's, and are not hashed. */
const MAX_PRESENTED_LENGTH = 4096;
/** Deeper than any honest chain of keys made with keys. */
const MAX_ANCESTORS = 16;
const RETRY_DELAY_MS = 50;

/** Begins to follow the view at once; the cache must be ready, else the index is empty until it is. */
export function createAccessKeyIndex(options: AccessKeyIndexOptions): LiveAccessKeyIndex {
  const { view, prefix, directory, secrets, restrictionNames, activity, epochs, maxTTLSeconds, clock, scheduler } =
    options;
  const { rotationMarks = createRotationMarks() } = options;
  const table = new AccessKeyTable();
  let isCurrent = false;

  const endFrom = (
    createdAt: number,
    lastActivity: number | undefined,
    record: AccessKeyRecord,
  ): number | undefined => {
    const { ttl, countsFromActivity } = record;
    return endOfLife({ createdAt, lastActivity, ttl, countsFromActivity }, maxTTLSeconds);
  };

  const ownEnd = (record: AccessKeyRecord): number | undefined =>
    endFrom(record.createdAt, Math.max(record.lastActivity ?? 0, activity.of(record.uid) ?? 0), record);

  /** By what is written, and by what is known here of its use; each by the clock as it was when that was learned. */
  const hasEnded = (record: AccessKeyRecord, graceMs = 0): boolean => {
    const written = endFrom(record.createdAt, record.lastActivity, record);
    if (written === undefined || written + graceMs > epochs.latest(record.epoch)) return false;
    const usedAt = record.countsFromActivity ? activity.of(record.uid) : undefined;
    // Without its creation, which was told by another clock where that has been set since.
    const byUse = usedAt === undefined ? undefined : endFrom(usedAt, usedAt, record);
    return byUse === undefined || byUse + graceMs <= epochs.latest(activity.epochOf(record.uid));
  };

  const endWithAncestors = (record: AccessKeyRecord, depth = 0): number | undefined => {
    let end = earlier(ownEnd(record), record.acceptedUntil);
    if (depth > MAX_ANCESTORS) return 0;
    for (const uid of record.parentUids) {
      const parent = table.byUid(uid);
      const parentEnd = parent === undefined ? 0 : endWithAncestors(parent, depth + 1);
      end = earlier(end, parentEnd);
    }
    return end;
  };

  const refusal = (record: AccessKeyRecord, depth = 0): string | undefined => {
    if (record.isTerminating) return "being deleted";
    if (record.disabled) return "disabled";
    if (hasEnded(record)) return "expired";
    if (record.isLocked || rotationMarks.isLocked(record.uid, idOf(record.uid))) return LOCKED;
    if (isOver(record)) return "replaced by a rotation";
    const byOwner = refusalOfOwner(record, directory);
    if (byOwner !== undefined) return byOwner;
    if (depth > MAX_ANCESTORS) return "made through too many other keys";
    for (const uid of record.parentUids) {
      const parent = table.byUid(uid);
      if (parent === undefined) return "the key it was made with is gone";
      const why = refusal(parent, depth + 1);
      if (why !== undefined) return `the key it was made with is refused: ${why}`;
      if (!isWithin(record.restrictions, parent.restrictions)) return "reaches beyond the key it was made with";
    }
    return undefined;
  };

  const refusalOf = (key: AccessKeyState): string | undefined => {
    if (!isCurrent) return "the keys are being loaded";
    const record = table.byUid(key.uid);
    if (record === undefined) return "deleted";
    const found = record.id === key.id ? record : table.retiredOf(record.name).find(({ id }) => id === key.id);
    return found === undefined ? "replaced by a new value" : refusal(found);
  };

  const idOf = (uid: string): string => table.byUid(uid)?.id ?? "";

  /** A retired value ends with its grace, or with the first use of the one that came after it. */
  const isOver = ({ uid, acceptedUntil, epoch }: AccessKeyRecord): boolean =>
    acceptedUntil !== undefined && (acceptedUntil <= epochs.latest(epoch) || rotationMarks.isConfirmed(uid, idOf(uid)));

  const watches = new RevocationWatches({
    find: (id) => table.byId(id),
    isRefused: (record) => refusalOf(record) !== undefined,
    endOf: endWithAncestors,
    ownerFingerprint: (record) => ownerFingerprint(record, directory),
    clock,
    scheduler,
  });

  const put = (object: CachedObject): void => {
    const known = table.byName(object.key.slice(prefix.length));
    const retiredBefore = known === undefined ? [] : table.retiredOf(known.name);
    const record = add(object, known);
    if (known !== undefined) watches.recheck(known.id);
    for (const { id } of retiredBefore) watches.recheck(id);
    recheckDescendants(record.uid);
  };

  const add = (object: CachedObject, known?: AccessKeyRecord): AccessKeyRecord => {
    const epochAfter = (previous: AccessKeyRecord | undefined): ClockEpoch => previous?.epoch ?? epochs.current();
    const make = (previous: AccessKeyRecord | undefined, value?: RetiredValue): AccessKeyRecord =>
      new AccessKeyRecord(object, restrictionNames, endWithAncestors, epochAfter(previous), known, value);
    const isSame = known !== undefined && object.decode().metadata.uid === known.uid;
    const record = make(isSame ? known : undefined);
    const retiredBefore = known === undefined ? [] : table.retiredOf(known.name);
    const retired = record.retired.map((value) =>
      make(
        retiredBefore.find(({ id }) => id === value.id),
        value,
      ),
    );
    table.set(record, retired);
    return record;
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

  let subscription: Disposable | undefined;
  let disposed = false;
  /** Until the view is followed again nothing is known to be good, so everything is refused. */
  const follow = (): void => {
    if (disposed) return;
    const from = view.revision;
    table.clear();
    for (const object of view.list(prefix)) add(object);
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
    ownEnd,
    hasEnded,
    [Symbol.dispose]() {
      disposed = true;
      isCurrent = false;
      subscription?.[Symbol.dispose]();
      directoryChanges[Symbol.dispose]();
      markChanges[Symbol.dispose]();
      watches[Symbol.dispose]();
    },
  };
}

/** Of two moments, either of which may never come. */
const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

const LOCKED = "locked: a value that a rotation had replaced was used";

function refusalOfOwner({ owner, ownerUid }: AccessKeyRecord, directory: Directory): string | undefined {
  if (owner.name === "") return "belongs to nobody";
  if (owner.kind === "subject") {
    return directory.userBySubject(owner.name)?.locked === true ? "its user is locked" : undefined;
  }
  const found = owner.kind === "user" ? directory.user(owner.name) : directory.team(owner.name);
  if (found === undefined) return `its ${owner.kind} is gone`;
  if (ownerUid !== undefined && found.uid !== ownerUid)
    return `its ${owner.kind} is gone, there is another of its name`;
  return "locked" in found && found.locked ? "its user is locked" : undefined;
}

/** Changes when what the directory gives the holder of a key does. */
function ownerFingerprint({ owner }: AccessKeyRecord, directory: Directory): string {
  if (owner.kind !== "user") return "";
  const user = directory.user(owner.name);
  return JSON.stringify([user?.subject, user?.groups, directory.teamsOf(owner.name).map(({ name }) => name)]);
}
