// The subscriptions of one view by prefix, so that the cost of an event does not depend on the number of subscribed prefixes.

import type { Revision } from "../storage/storage.ts";
import type { Subscription } from "./subscription.ts";
import type { CacheEvent } from "./watch-cache.ts";

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
    // Most events of one commit lie in one folder.
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
    if (this.#folders.size === 0 && this.#others.size === 0) return;
    const behind = this.#all().filter(({ covered }) => covered < revision);
    let at = 0;
    // A later report stays correct: the watch was offered everything up to this revision.
    const notifySome = (): void => {
      for (const subscription of behind.slice(at, at + TOLD_PER_TURN)) subscription.progress(revision);
      at += TOLD_PER_TURN;
      if (at < behind.length) setImmediate(notifySome);
    };
    notifySome();
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
