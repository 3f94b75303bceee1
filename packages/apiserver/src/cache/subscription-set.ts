// The subscriptions of one view by prefix, so that the cost of an event does not depend on the number of subscribed prefixes.

import type { Revision } from "../storage/storage.ts";
import type { CacheEvent, CacheObserver } from "./watch-cache.ts";

type Group = { readonly prefix: string; readonly subscriptions: Set<Subscription> };

/** Progress events are not urgent: ten thousand at once would take tens of milliseconds. */
const TOLD_PER_TURN = 500;

export class SubscriptionSet {
  /** By prefix: those that end in a slash, found by cutting keys at their slashes. */
  readonly #folders = new Map<string, Group>();
  /** By prefix: all others, such as the key of one object. Found by cutting keys at each length that one of them has. */
  readonly #others = new Map<string, Group>();
  /** How many of these there are of each length. */
  readonly #lengths = new Map<number, number>();

  get isEmpty(): boolean {
    return this.#folders.size === 0 && this.#others.size === 0;
  }

  add(subscription: Subscription): void {
    const { prefix } = subscription;
    const groups = this.#groupsFor(prefix);
    const group = groups.get(prefix);
    if (group !== undefined) group.subscriptions.add(subscription);
    else {
      groups.set(prefix, { prefix, subscriptions: new Set([subscription]) });
      if (groups === this.#others) this.#count(prefix.length, 1);
    }
  }

  remove(subscription: Subscription): void {
    const groups = this.#groupsFor(subscription.prefix);
    const group = groups.get(subscription.prefix);
    group?.subscriptions.delete(subscription);
    if (group?.subscriptions.size !== 0) return;
    groups.delete(subscription.prefix);
    if (groups === this.#others) this.#count(subscription.prefix.length, -1);
  }

  dispatch(events: readonly CacheEvent[]): void {
    const batches = new Map<Group, CacheEvent[]>();
    // Those of one commit are mostly in one folder.
    let folder = "";
    let groups: readonly Group[] = [];
    for (const event of events) {
      const { key } = event.object;
      const end = key.lastIndexOf("/") + 1;
      if (end !== folder.length || !key.startsWith(folder)) {
        folder = key.slice(0, end);
        groups = this.#foldersOf(folder);
      }
      for (const group of groups) addTo(batches, group, event);
      for (const length of this.#lengths.keys()) {
        if (length <= key.length) addTo(batches, this.#others.get(key.slice(0, length)), event);
      }
    }
    for (const [group, batch] of batches) for (const subscription of group.subscriptions) subscription.offer(batch);
  }

  /** The groups of a folder and of all folders around it. */
  #foldersOf(folder: string): Group[] {
    const groups: Group[] = [];
    if (this.#folders.size === 0) return groups;
    for (let slash = folder.indexOf("/"); slash >= 0; slash = folder.indexOf("/", slash + 1)) {
      const group = this.#folders.get(folder.slice(0, slash + 1));
      if (group !== undefined) groups.push(group);
    }
    return groups;
  }

  progress(revision: Revision): void {
    const behind = this.#all().filter(({ covered }) => covered < revision);
    let at = 0;
    // A later report stays correct: the watch was offered everything up to this revision.
    const tellSome = (): void => {
      for (const subscription of behind.slice(at, at + TOLD_PER_TURN)) subscription.progress(revision);
      at += TOLD_PER_TURN;
      if (at < behind.length) setImmediate(tellSome);
    };
    tellSome();
  }

  failAll(error: Error): void {
    const all = this.#all();
    this.#folders.clear();
    this.#others.clear();
    this.#lengths.clear();
    for (const subscription of all) subscription.fail(error);
  }

  #all(): Subscription[] {
    return [...this.#folders.values(), ...this.#others.values()].flatMap((group) => [...group.subscriptions]);
  }

  #count(length: number, change: number): void {
    const count = (this.#lengths.get(length) ?? 0) + change;
    if (count > 0) this.#lengths.set(length, count);
    else this.#lengths.delete(length);
  }

  #groupsFor(prefix: string): Map<string, Group> {
    return prefix.endsWith("/") ? this.#folders : this.#others;
  }
}

function addTo(batches: Map<Group, CacheEvent[]>, group: Group | undefined, event: CacheEvent): void {
  if (group === undefined) return;
  const batch = batches.get(group);
  if (batch === undefined) batches.set(group, [event]);
  else batch.push(event);
}

// One subscription to a view: first the past, held back until it is complete, then every batch as it comes.

export class Subscription {
  readonly prefix: string;
  readonly #observer: CacheObserver;
  readonly #onError: (error: unknown) => void;
  /** Everything up to here has been sent or lies in `#held`, or was not asked for. */
  #covered: Revision;
  /** Batches that must wait until the past has been sent. */
  #held: CacheEvent[] | undefined = [];
  #over = false;

  constructor(prefix: string, fromRevision: Revision, observer: CacheObserver, onError: (error: unknown) => void) {
    this.prefix = prefix;
    this.#covered = fromRevision;
    this.#observer = observer;
    this.#onError = onError;
  }

  get over(): boolean {
    return this.#over;
  }

  get covered(): Revision {
    return this.#covered;
  }

  /** A batch of new events, all under the prefix; those that are covered are left out. */
  offer(batch: readonly CacheEvent[]): void {
    const last = batch[batch.length - 1];
    if (this.#over || last === undefined || last.object.revision <= this.#covered) return;
    const events = this.#uncovered(batch);
    this.#covered = last.object.revision;
    if (this.#held === undefined) this.#send(events);
    else this.#held.push(...events);
  }

  /** Part of the past, sent at once although new events are held back. */
  replay(events: readonly CacheEvent[]): void {
    if (!this.#over && events.length > 0) this.#send(events);
  }

  /** The events up to `revision` come from elsewhere: from the history of the store. */
  coverUpTo(revision: Revision): void {
    this.#covered = Math.max(this.#covered, revision);
  }

  /** The past is complete; the view is at `revision`. */
  release(revision: Revision): void {
    // Once more for every write that the observer makes meanwhile.
    for (let held = this.#held; !this.#over && held !== undefined && held.length > 0; held = this.#held) {
      this.#held = [];
      this.#send(held);
    }
    this.#held = undefined;
    this.progress(revision);
  }

  progress(revision: Revision): void {
    if (this.#over || this.#held !== undefined || revision < this.#covered) return;
    this.#covered = revision;
    this.#guard(() => this.#observer.progress?.(revision));
  }

  fail(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#observer.error(error);
    } catch (failure) {
      this.#onError(failure);
    }
  }

  end(): void {
    this.#over = true;
    this.#held = undefined;
  }

  #send(events: readonly CacheEvent[]): void {
    this.#guard(() => this.#observer.events(events));
  }

  /** An observer that throws loses its own subscription: the others, and the cache itself, go on. */
  #guard(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#onError(error);
      this.fail(error instanceof Error ? error : new Error("the observer of a view failed", { cause: error }));
    }
  }

  // Almost always the batch itself, so that all subscriptions of a prefix share one array.
  #uncovered(batch: readonly CacheEvent[]): readonly CacheEvent[] {
    const [first] = batch;
    if (first !== undefined && first.object.revision > this.#covered) return batch;
    return batch.filter((event) => event.object.revision > this.#covered);
  }
}
