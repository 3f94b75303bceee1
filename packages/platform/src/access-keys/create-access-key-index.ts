// The access keys in memory: found by what a request carries in constant time, and watched for the moment they stop being good.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { CacheEvent, CacheView } from "@postern/apiserver/cache/watch-cache";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import type { Directory } from "../directory/directory.ts";
import { sameDigest } from "./access-key-digest.ts";
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

export type AccessKeyIndexOptions = {
  /** Of the records of `ownedaccesskeys`, with its prefix. */
  readonly view: CacheView;
  readonly prefix: string;
  readonly directory: Directory;
  readonly secrets: AccessKeySecrets;
  readonly restrictionNames: RestrictionNames;
  readonly activity: LastActivity;
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
  };

/** Longer ones are nobody's, and are not hashed. */
const MAX_PRESENTED_LENGTH = 4096;
/** Deeper than any honest chain of keys made with keys. */
const MAX_ANCESTORS = 16;
const RETRY_DELAY_MS = 50;

/** Begins to follow the view at once; the cache must be ready, else the index is empty until it is. */
export function createAccessKeyIndex(options: AccessKeyIndexOptions): LiveAccessKeyIndex {
  const { view, prefix, directory, secrets, restrictionNames, activity, maxTTLSeconds, clock, scheduler } = options;
  const table = new AccessKeyTable();
  let isCurrent = false;

  const ownEnd = (record: AccessKeyRecord): number | undefined =>
    endOfLife(
      {
        createdAt: record.createdAt,
        lastActivity: Math.max(record.lastActivity ?? 0, activity.of(record.uid) ?? 0),
        ttl: record.ttl,
        countsFromActivity: record.countsFromActivity,
      },
      maxTTLSeconds,
    );

  const endWithAncestors = (record: AccessKeyRecord, depth = 0): number | undefined => {
    let end = ownEnd(record);
    if (depth > MAX_ANCESTORS) return 0;
    for (const uid of record.parentUids) {
      const parent = table.byUid(uid);
      const parentEnd = parent === undefined ? 0 : endWithAncestors(parent, depth + 1);
      if (parentEnd !== undefined && (end === undefined || parentEnd < end)) end = parentEnd;
    }
    return end;
  };

  const refusal = (record: AccessKeyRecord, depth = 0): string | undefined => {
    if (record.isTerminating) return "being deleted";
    if (record.disabled) return "disabled";
    const end = ownEnd(record);
    if (end !== undefined && end <= clock.now()) return "expired";
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
    return record.id === key.id ? refusal(record) : "replaced by a new value";
  };

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
    const record = new AccessKeyRecord(object, restrictionNames, endWithAncestors, known);
    const previous = table.set(record);
    if (previous !== undefined) watches.recheck(previous.id);
    recheckDescendants(record.uid);
  };

  const remove = (object: CachedObject): void => {
    const record = table.remove(object.key.slice(prefix.length));
    if (record === undefined) return;
    activity.forget(record.uid);
    watches.recheck(record.id);
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
    table.replace(view.list(prefix).map((object) => new AccessKeyRecord(object, restrictionNames, endWithAncestors)));
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
  const directoryChanges = directory.onChange(() => watches.recheckAll());

  return {
    find(presented) {
      if (presented.length > MAX_PRESENTED_LENGTH) return undefined;
      // Hashed in any case: an unknown id takes as long as a wrong secret.
      const digest = secrets.digestOf(presented);
      const id = secrets.format.idOf(presented);
      const structured = id === undefined ? undefined : table.byId(id);
      const record = structured?.structured === true ? structured : table.byDigest(digest);
      if (record === undefined) return undefined;
      if (sameDigest(digest, Buffer.from(record.digest, "base64url"))) return record;
      // A client may have brought a value that looks like one of ours.
      return record === structured ? table.byDigest(digest) : undefined;
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
    [Symbol.dispose]() {
      disposed = true;
      isCurrent = false;
      subscription?.[Symbol.dispose]();
      directoryChanges[Symbol.dispose]();
      watches[Symbol.dispose]();
    },
  };
}

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
