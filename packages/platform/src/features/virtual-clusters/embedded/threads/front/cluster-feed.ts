// Events of the store for embedded clusters: one watch of the store serves all of them, so that a commit costs the same however many run.

import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { Revision, Storage, StorageEvent, WatchObserver } from "@postern/apiserver/storage/storage";
import { keyOf, revisionOf } from "@postern/apiserver/storage/watcher-set";

export type ClusterFeed = Disposable & {
  /** As `Storage.watch`, for the prefix of a cluster. The observer gets revisions that change nothing there every few seconds. */
  join(prefix: string, fromRevision: Revision, observer: WatchObserver): Disposable;
  /** Makes the observer of the prefix learn that everything up to `revision` has been sent, once it has. */
  tell(prefix: string, revision: Revision): void;
};

type Member = { readonly observer: WatchObserver; covered: Revision; wanted: Revision };

/** Watches of clients resume from a revision that is at most this much older than it need be. */
const PROGRESS_MS = 5_000;

/** `root` is what the prefixes of all clusters begin with. */
export function createClusterFeed(
  storage: Pick<Storage, "watch">,
  root: string,
  scheduler: Pick<Scheduler, "schedule">,
): ClusterFeed {
  const members = new Map<string, Member>();
  const waiting = new Set<Member>();
  let watch: Disposable | undefined;
  let covered: Revision = 0;
  let progress: Disposable | undefined;

  function start(fromRevision: Revision): void {
    covered = fromRevision;
    watch = storage.watch(root, fromRevision, { events: deliver, error: fail });
  }

  function deliver(events: readonly StorageEvent[], revision: Revision): void {
    covered = revision;
    for (const [prefix, own] of byPrefix(events)) {
      const member = members.get(prefix);
      if (member === undefined) continue;
      const { observer, covered: before } = member;
      member.covered = revision;
      const later = own.filter((event) => revisionOf(event) > before);
      if (later.length > 0) observer.events(later, revision);
    }
    for (const member of waiting) tellMember(member);
    if (members.size > 0) progress ??= scheduler.schedule(PROGRESS_MS, deliverAll);
  }

  function byPrefix(events: readonly StorageEvent[]): ReadonlyMap<string, StorageEvent[]> {
    const found = new Map<string, StorageEvent[]>();
    for (const event of events) {
      const key = keyOf(event);
      const prefix = key.slice(0, key.indexOf("/", root.length) + 1);
      const known = found.get(prefix);
      if (known === undefined) found.set(prefix, [event]);
      else known.push(event);
    }
    return found;
  }

  function tellMember(member: Member): void {
    if (covered < member.wanted) return;
    waiting.delete(member);
    member.covered = Math.max(member.covered, covered);
    member.observer.events([], member.covered);
  }

  function deliverAll(): void {
    progress = undefined;
    for (const member of members.values()) {
      if (member.covered >= covered) continue;
      member.covered = covered;
      member.observer.events([], covered);
    }
  }

  /** They watch again, each from where it is. */
  function fail(error: Error): void {
    watch = undefined;
    const all = [...members.values()];
    members.clear();
    waiting.clear();
    for (const { observer } of all) observer.error(error);
  }

  function leave(prefix: string, member: Member): void {
    waiting.delete(member);
    if (members.get(prefix) === member) members.delete(prefix);
    if (members.size > 0) return;
    watch?.[Symbol.dispose]();
    watch = undefined;
    progress?.[Symbol.dispose]();
    progress = undefined;
  }

  return {
    join(prefix, fromRevision, observer) {
      const member: Member = { observer, covered: fromRevision, wanted: 0 };
      if (watch === undefined) start(fromRevision);
      if (fromRevision >= covered) {
        members.set(prefix, member);
        return { [Symbol.dispose]: () => leave(prefix, member) };
      }
      // A watch of its own, until it is where all the others are.
      let isOver = false;
      const own = storage.watch(prefix, fromRevision, {
        events(events, revision) {
          member.covered = revision;
          observer.events(events, revision);
          if (isOver || watch === undefined || revision < covered) return;
          own[Symbol.dispose]();
          members.set(prefix, member);
        },
        error: (error) => observer.error(error),
      });
      return {
        [Symbol.dispose]() {
          isOver = true;
          own[Symbol.dispose]();
          leave(prefix, member);
        },
      };
    },
    tell(prefix, revision) {
      const member = members.get(prefix);
      // A watch of its own reports every revision.
      if (member === undefined) return;
      member.wanted = revision;
      waiting.add(member);
      tellMember(member);
    },
    [Symbol.dispose]() {
      watch?.[Symbol.dispose]();
      progress?.[Symbol.dispose]();
      members.clear();
      waiting.clear();
    },
  };
}
