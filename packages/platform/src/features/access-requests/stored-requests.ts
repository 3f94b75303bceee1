// Stored access requests by key, uid and user, with the numbers that limits are held against.

import { accountOfPlace, type RequestRecord } from "./request-record.ts";

type Stored = { readonly record: RequestRecord };

export class StoredRequests<Entry extends Stored = Stored> {
  readonly #byKey = new Map<string, Entry>();
  readonly #byUid = new Map<string, Entry>();
  readonly #byUser = new Map<string, Map<string, Entry>>();
  readonly #openIn = new Map<string, number>();

  get(key: string): Entry | undefined {
    return this.#byKey.get(key);
  }

  byUid(uid: string): Entry | undefined {
    return this.#byUid.get(uid);
  }

  keys(): readonly string[] {
    return [...this.#byKey.keys()];
  }

  set(key: string, entry: Entry): void {
    this.delete(key);
    this.#byKey.set(key, entry);
    const { uid, user } = entry.record;
    this.#byUid.set(uid, entry);
    this.#byUser.set(user, (this.#byUser.get(user) ?? new Map<string, Entry>()).set(uid, entry));
    this.#count(entry, 1);
  }

  delete(key: string): void {
    const entry = this.#byKey.get(key);
    if (entry === undefined) return;
    this.#byKey.delete(key);
    const { uid, user } = entry.record;
    if (this.#byUid.get(uid) === entry) this.#byUid.delete(uid);
    const others = this.#byUser.get(user);
    others?.delete(uid);
    if (others?.size === 0) this.#byUser.delete(user);
    this.#count(entry, -1);
  }

  /** All requests of a user, ended ones among them, the oldest first. */
  of(user: string): readonly RequestRecord[] {
    return [...(this.#byUser.get(user)?.values() ?? [])]
      .map(({ record }) => record)
      .sort((one, other) => one.createdAt - other.createdAt);
  }

  countOpen(user: string): number {
    return this.of(user).filter(isOpen).length;
  }

  /** Open requests for the same project, or for connected clusters. */
  countOpenIn(place: RequestRecord["place"]): number {
    return this.#openIn.get(accountOfPlace(place)) ?? 0;
  }

  #count({ record }: Entry, change: 1 | -1): void {
    if (!isOpen(record)) return;
    const account = accountOfPlace(record.place);
    const count = (this.#openIn.get(account) ?? 0) + change;
    if (count === 0) this.#openIn.delete(account);
    else this.#openIn.set(account, count);
  }
}

export const isOpen = ({ phase }: Pick<RequestRecord, "phase">): boolean => phase === "Pending" || phase === "Approved";
