// Live grants by user and by place.

import type { RequestRecord } from "./request-record.ts";

const NONE: readonly RequestRecord[] = [];

export class GrantSets {
  readonly #byUid = new Map<string, RequestRecord>();
  readonly #byAccount = new Map<string, Map<string, RequestRecord>>();
  #firstEnd: number | undefined;
  #lastBegin: number | undefined;

  get size(): number {
    return this.#byUid.size;
  }

  uids(): readonly string[] {
    return [...this.#byUid.keys()];
  }

  has(uid: string): boolean {
    return this.#byUid.has(uid);
  }

  /** Milliseconds since the epoch; infinite without grants. */
  get firstEnd(): number {
    this.#firstEnd ??= Math.min(...[...this.#byUid.values()].map(({ until }) => until));
    return this.#firstEnd;
  }

  get lastBegin(): number {
    this.#lastBegin ??= Math.max(...[...this.#byUid.values()].map(({ from }) => from));
    return this.#lastBegin;
  }

  add(record: RequestRecord): void {
    this.#byUid.set(record.uid, record);
    for (const account of accountsOf(record)) {
      const records = this.#byAccount.get(account) ?? new Map<string, RequestRecord>();
      this.#byAccount.set(account, records.set(record.uid, record));
    }
    this.#firstEnd = undefined;
    this.#lastBegin = undefined;
  }

  /** Whether it was there. */
  delete(uid: string): boolean {
    const record = this.#byUid.get(uid);
    if (record === undefined) return false;
    this.#byUid.delete(uid);
    for (const account of accountsOf(record)) {
      const records = this.#byAccount.get(account);
      records?.delete(uid);
      if (records?.size === 0) this.#byAccount.delete(account);
    }
    this.#firstEnd = undefined;
    this.#lastBegin = undefined;
    return true;
  }

  ofUser = (user: string): readonly RequestRecord[] => this.#of(userAccount(user));
  inProject = (project: string): readonly RequestRecord[] => this.#of(`project/${project}`);
  inCluster = (cluster: string): readonly RequestRecord[] => this.#of(`cluster/${cluster}`);
  inVirtualCluster = (project: string, virtualCluster: string): readonly RequestRecord[] =>
    this.#of(`virtualcluster/${project}/${virtualCluster}`);

  #of(account: string): readonly RequestRecord[] {
    const records = this.#byAccount.get(account);
    return records === undefined ? NONE : [...records.values()];
  }
}

const userAccount = (user: string): string => `user/${user}`;

function accountsOf({ user, place }: RequestRecord): readonly string[] {
  if (place === undefined) return [userAccount(user)];
  if ("cluster" in place) return [userAccount(user), `cluster/${place.cluster}`];
  const { project, virtualCluster } = place;
  const account = virtualCluster === undefined ? `project/${project}` : `virtualcluster/${project}/${virtualCluster}`;
  return [userAccount(user), account];
}
