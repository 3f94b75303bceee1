// Counts the objects and bytes that the watch cache holds, by API surface and by namespace, so that budgets need not look at any object.

import type { CachedObject } from "./cached-object.ts";

export type StoredAmount = {
  readonly objects: number;
  readonly bytes: number;
  /** Memory that is kept of the objects beside their bytes. Absent: 0. */
  readonly kept?: number;
};

/** Memory that is kept of an object of a view beside its bytes. It depends on nothing but the object. */
export type KeptMemory = (viewPrefix: string) => (object: CachedObject) => number;

export const NOTHING_STORED: StoredAmount = { objects: 0, bytes: 0, kept: 0 };

/** Called after the amount of one API surface has changed. */
export type UsageListener = (composition: string, amount: StoredAmount) => void;

/** Adds the objects of one view. */
export type UsageCounter = {
  /** `sign` is 1 for an object that came, -1 for one that went. */
  add(object: CachedObject, sign: 1 | -1): void;
};

export class StoredUsage {
  readonly #keptOf: KeptMemory;
  readonly #byNamespace: ReadonlySet<string>;
  readonly #compositions = new Map<string, StoredAmount>();
  /** By composition and namespace, of the compositions that are counted by namespace. */
  readonly #namespaces = new Map<string, StoredAmount>();
  readonly #listeners = new Set<UsageListener>();
  readonly #objectListeners = new Set<(key: string) => void>();

  /** `byNamespace` names the compositions whose namespaces are counted as well. */
  constructor(byNamespace: Iterable<string> = [], keptOf: KeptMemory = () => () => 0) {
    this.#byNamespace = new Set(byNamespace);
    this.#keptOf = keptOf;
  }

  /** Bytes and objects of one API surface. */
  of(composition: string): StoredAmount {
    return this.#compositions.get(composition) ?? NOTHING_STORED;
  }

  /** Bytes and objects of one namespace, where the composition is counted by namespace. */
  inNamespace(composition: string, namespace: string): StoredAmount {
    return this.#namespaces.get(`${composition}/${namespace}`) ?? NOTHING_STORED;
  }

  /** Namespace and amount, of a composition that is counted by namespace. */
  *namespaces(composition: string): IterableIterator<readonly [string, StoredAmount]> {
    const prefix = `${composition}/`;
    for (const [account, amount] of this.#namespaces)
      if (account.startsWith(prefix)) yield [account.slice(prefix.length), amount];
  }

  compositions(): IterableIterator<readonly [string, StoredAmount]> {
    return this.#compositions.entries();
  }

  onChange(listener: UsageListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Called with the key of each object that came or went. */
  onObject(listener: (key: string) => void): Disposable {
    this.#objectListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#objectListeners.delete(listener) };
  }

  /** The amount of one object of the view with this prefix. */
  amountOf(viewPrefix: string, object: CachedObject): StoredAmount {
    return amountOf(object, this.#keptOf(viewPrefix));
  }

  /** Counts objects of the view with this prefix that are not in memory. Namespaces are not counted. */
  change(viewPrefix: string, amount: StoredAmount, sign: 1 | -1): void {
    const composition = compositionOf(viewPrefix);
    const sum = change(this.#compositions, composition, amount, sign);
    for (const listener of this.#listeners) listener(composition, sum);
  }

  /** For the view with this prefix, `/registry/<composition>/<group>/<resource>/`. */
  counterOf(viewPrefix: string): UsageCounter {
    const composition = compositionOf(viewPrefix);
    const isByNamespace = this.#byNamespace.has(composition);
    const keptOf = this.#keptOf(viewPrefix);
    return {
      add: (object, sign) => {
        const { key } = object;
        const added = amountOf(object, keptOf);
        const amount = change(this.#compositions, composition, added, sign);
        const slash = isByNamespace ? key.indexOf("/", viewPrefix.length) : -1;
        if (slash >= 0) {
          change(this.#namespaces, `${composition}/${key.slice(viewPrefix.length, slash)}`, added, sign);
        }
        for (const listener of this.#listeners) listener(composition, amount);
        for (const listener of this.#objectListeners) listener(key);
      },
    };
  }
}

const compositionOf = (viewPrefix: string): string => viewPrefix.split("/")[2] ?? "";

const amountOf = (object: CachedObject, keptOf: ReturnType<KeptMemory>): StoredAmount => ({
  objects: 1,
  bytes: object.storedBytes,
  kept: object.keptBytes(keptOf),
});

/** Empty entries are removed: clusters and namespaces come and go. */
function change(amounts: Map<string, StoredAmount>, account: string, added: StoredAmount, sign: 1 | -1): StoredAmount {
  const amount = sumOf(amounts.get(account) ?? NOTHING_STORED, added, sign);
  if (amount.objects <= 0) amounts.delete(account);
  else amounts.set(account, amount);
  return amount;
}

export function sumOf(one: StoredAmount, other: StoredAmount, sign: 1 | -1 = 1): StoredAmount {
  return {
    objects: one.objects + sign * other.objects,
    bytes: one.bytes + sign * other.bytes,
    kept: (one.kept ?? 0) + sign * (other.kept ?? 0),
  };
}
