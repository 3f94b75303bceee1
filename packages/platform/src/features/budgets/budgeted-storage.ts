// A store that refuses writes for which a budget has no room. Deletions, and updates that make objects smaller, always pass (ADR 155).

import { ApiError, requestEntityTooLargeError } from "@postern/apimachinery/meta/api-error";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { viewPrefixOf } from "@postern/apiserver/cache/resource-keys";
import { NOTHING_STORED, type StoredAmount, type StoredUsage, sumOf } from "@postern/apiserver/cache/stored-usage";
import type { StoredContent, WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { LimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { Revision, Storage } from "@postern/apiserver/storage/storage";
import { addTo, all, type OneOrMore, removeFrom } from "../access-keys/index/multi-map.ts";
import { keptMemoryOf } from "./kept-memory.ts";

export type Growth = StoredAmount & { readonly isUpdate: boolean };

export type Budget = {
  /** Writes of one account are added up while they are in progress. */
  readonly account: string;
  /** Throws the ApiError 507 if there is no room. `pending` is what writes in progress will add. */
  check(growth: Growth, pending: StoredAmount): void;
  /** Whether writes of other threads could take what is left at the same moment. Absent: they have room of their own. */
  isNear?(growth: Growth, pending: StoredAmount): boolean;
};

/**
 * The amounts that writes in progress will add to those in memory, by account. A write counts until it failed, or until the object that it changes has come
 * or gone in memory. Storages whose writes count together share one. `usage` is that of the cache which shows them.
 */
export class PendingWrites {
  readonly #usage: Pick<StoredUsage, "onObject">;
  readonly #accounts = new Map<string, { writes: number; sum: StoredAmount }>();
  readonly #byKey = new Map<string, OneOrMore<PendingWrite>>();
  /** While there are any. */
  #following: Disposable | undefined;

  constructor(usage: Pick<StoredUsage, "onObject">) {
    this.#usage = usage;
  }

  add(write: PendingWrite): void {
    this.#following ??= this.#usage.onObject((key) => {
      for (const seen of all(this.#byKey.get(key))) this.remove(seen);
    });
    addTo(this.#byKey, write.key, write);
    for (const { account } of write.budgets) {
      const known = this.#accounts.get(account);
      this.#accounts.set(account, {
        writes: (known?.writes ?? 0) + 1,
        sum: sumOf(known?.sum ?? NOTHING_STORED, write.growth),
      });
    }
  }

  /** Does nothing to a write that was removed before. */
  remove(write: PendingWrite): void {
    if (!removeFrom(this.#byKey, write.key, write)) return;
    for (const { account } of write.budgets) {
      const known = this.#accounts.get(account);
      if (known === undefined || known.writes === 1) this.#accounts.delete(account);
      else this.#accounts.set(account, { writes: known.writes - 1, sum: sumOf(known.sum, write.growth, -1) });
    }
    if (this.#byKey.size > 0) return;
    this.#following?.[Symbol.dispose]();
    this.#following = undefined;
  }

  of(account: string): StoredAmount {
    return this.#accounts.get(account)?.sum ?? NOTHING_STORED;
  }
}

type Asked = { readonly budgets: readonly Budget[]; readonly growth: Growth };

type PendingWrite = Asked & { readonly key: string };

/** Updates may exceed a budget a little: conditions and finalizers are updates, and without them nothing could be completed. */
const UPDATE_ROOM = 1.1;
/** Bytes of the timestamp and the annotations of a deletion. */
const DELETION_BYTES = 4096;
const DELETION = Buffer.from('"deletionTimestamp":');
const readDeletion = createMemberReader({ metadata: { deletionTimestamp: true } });

export function budgetedStorage(deps: {
  readonly storage: Storage;
  readonly cache: Pick<WatchCache, "view" | "waitFor">;
  readonly pending: PendingWrites;
  /** Locks that all threads share. Once one is held, memory shows the writes of its earlier holders. Absent: this thread alone writes. */
  readonly limitLocks?: LimitLocks | undefined;
  /** The budgets for an object, as it is or as it is about to be stored. */
  readonly budgetsOf: (object: CachedObject) => readonly Budget[];
  /** The most bytes that one object may have. Absent: as many as the store takes. */
  readonly maxBytesOf?: (key: string) => number;
  /** Before that; undefined if it can be said at once. */
  readonly whenCounted?: (key: string) => Promise<void> | undefined;
}): Storage {
  const { storage, cache, pending, limitLocks, budgetsOf, whenCounted = () => undefined } = deps;
  const { maxBytesOf = () => Number.POSITIVE_INFINITY } = deps;

  /** An object that is larger already, such as one of an earlier release, may stay so. */
  function checkSize(key: string, bytes: number, before: number): void {
    const limit = maxBytesOf(key);
    if (bytes <= limit || bytes <= before) return;
    throw requestEntityTooLargeError(
      `the object is too large: it has ${bytes} bytes, and the limit of its kind is ${limit}`,
    );
  }

  /** The budgets that a write is for, and its growth; undefined for a write that always passes. */
  function askedFor(key: string, value: Uint8Array, kind: "create" | "update", content?: unknown): Asked | undefined {
    const stored = kind === "create" ? undefined : storedAt(key);
    checkSize(key, value.length, stored?.storedBytes ?? 0);
    const next = asStored(key, value, content);
    const budgets = budgetsOf(next);
    const keptOf = keptMemoryOf(viewPrefixOf(key) ?? "");
    const all = { objects: 1, bytes: value.length, kept: keptOf(next) };
    if (kind === "create" || (stored !== undefined && isMoved(budgets, budgetsOf(stored))))
      return { budgets, growth: { ...all, isUpdate: false } };
    const before = { objects: 1, bytes: stored?.storedBytes ?? 0, kept: stored?.keptBytes(keptOf) ?? 0 };
    const growth = sumOf(all, before, -1);
    const { bytes, kept = 0 } = growth;
    const isDeletion = bytes <= DELETION_BYTES && isMarked(next) && stored !== undefined && !isMarked(stored);
    const isSmaller = bytes <= 0 && kept <= 0;
    return isSmaller || isDeletion ? undefined : { budgets, growth: { ...growth, isUpdate: true } };
  }

  function check({ budgets, growth }: Asked): void {
    for (const budget of budgets) budget.check(growth, pending.of(budget.account));
  }

  function within(asked: Asked | undefined, key: string, perform: () => Promise<Revision>): Promise<Revision> {
    if (asked === undefined) return perform();
    const near = limitLocks === undefined ? [] : nearAccounts(asked);
    return near.length === 0 ? counted(asked, key, perform) : alone(near, () => counted(asked, key, perform));
  }

  async function alone(near: readonly string[], perform: () => Promise<Revision>): Promise<Revision> {
    const release = await limitLocks?.hold(near);
    try {
      return await perform();
    } finally {
      release?.();
    }
  }

  /** Threads do not see what others are about to write: the last places are taken one after the other. */
  const nearAccounts = ({ budgets, growth }: Asked): readonly string[] =>
    budgets
      .filter(({ account, isNear }) => isNear?.(growth, pending.of(account)) === true)
      .map(({ account }) => `room of ${account}`);

  /** A write counts until memory shows it, so that concurrent writes do not all take the last place. */
  function counted(asked: Asked, key: string, perform: () => Promise<Revision>): Promise<Revision> {
    check(asked);
    const { budgets, growth } = asked;
    const write = { budgets, growth, key };
    pending.add(write);
    const done = (): void => pending.remove(write);
    const performed = perform();
    performed.then((revision) => {
      const visible = cache.waitFor(revision);
      if (visible === undefined) done();
      else visible.then(done, done);
    }, done);
    return performed;
  }

  const storedAt = (key: string) => {
    const prefix = viewPrefixOf(key);
    return prefix === undefined ? undefined : cache.view(prefix).get(key);
  };

  return {
    get: (...call) => storage.get(...call),
    list: (...call) => storage.list(...call),
    async create(key, value, content) {
      const counted = whenCounted(key);
      if (counted !== undefined) await counted;
      return await within(askedFor(key, value, "create", content), key, () => storage.create(key, value, content));
    },
    async update(key, value, expected, content) {
      const counted = whenCounted(key);
      if (counted !== undefined) await counted;
      return await within(askedFor(key, value, "update", content), key, () =>
        storage.update(key, value, expected, content),
      );
    },
    async checkRoom(key, value, kind) {
      await whenCounted(key);
      const asked = askedFor(key, value, kind);
      if (asked !== undefined) check(asked);
      await storage.checkRoom(key, value, kind);
    },
    delete: (...call) => storage.delete(...call),
    watch: (...call) => storage.watch(...call),
    currentRevision: () => storage.currentRevision(),
    known: storage.known,
    compact: (...call) => storage.compact(...call),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** Without copying it. `content` is what the value encodes, where the writer has it. */
function asStored(key: string, value: Uint8Array, content: unknown): CachedObject {
  const object = CachedObject.entryReader()({ key, value, revision: 0 });
  object.keepDecoded((content as StoredContent | undefined)?.object);
  return object;
}

/** For deletion. */
function isMarked(object: CachedObject): boolean {
  if (!object.mayHave(DELETION)) return false;
  const { metadata } = object.read(readDeletion) as { readonly metadata?: { readonly deletionTimestamp?: string } };
  return metadata?.deletionTimestamp !== undefined;
}

/** Whether the object now counts for another account, such as another owner. */
const isMoved = (budgets: readonly Budget[], before: readonly Budget[]): boolean =>
  budgets !== before && budgets.some(({ account }, index) => account !== before[index]?.account);

/** More writes than threads have in progress together by default. */
const AT_ONCE = 256;
/** Threads write what is larger one after the other. */
const SMALL_BYTES = 32 << 10;

/** The limit of one account. `full` says which limit is reached, and how to proceed. */
export function limitedBudget(
  account: string,
  used: () => StoredAmount,
  limit: () => StoredAmount,
  full: (used: StoredAmount, limit: StoredAmount) => string,
): Budget {
  return {
    account,
    isNear(growth, pending) {
      const now = used();
      const allowed = limit();
      const isLastObject = growth.objects > 0 && now.objects + pending.objects + AT_ONCE > allowed.objects;
      const bytes = now.bytes + pending.bytes + growth.bytes;
      return isLastObject || growth.bytes > SMALL_BYTES || bytes + AT_ONCE * SMALL_BYTES > allowed.bytes;
    },
    check(growth, pending) {
      const now = used();
      const allowed = limit();
      const room = growth.isUpdate ? UPDATE_ROOM : 1;
      const objects = now.objects + pending.objects + growth.objects;
      const bytes = now.bytes + pending.bytes + growth.bytes;
      const fits = (growth.objects === 0 || objects <= allowed.objects) && bytes <= allowed.bytes * room;
      if (!fits) throw insufficientStorageError(full(now, allowed));
    },
  };
}

export const insufficientStorageError = (message: string): ApiError =>
  new ApiError({ code: 507, reason: "InsufficientStorage", message });
