// Remembers which keys are good. A request asks twice, and the answer is the same until a key, an owner or a rotation changes, or a time has come.

import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import type { ExpiringKey } from "./key-expirations.ts";

/** Until when a key stays as it is, in milliseconds since the epoch of Unix, by the clock of `epoch`; undefined: as long as nothing is written. */
type Term = { readonly until: number | undefined; readonly epoch: ClockEpoch };

type Good = Term & { readonly version: number };

export type GoodKeysDeps = {
  readonly byUid: (uid: string) => ExpiringKey | undefined;
  readonly endOf: (key: ExpiringKey) => number | undefined;
  readonly epochs: Pick<ClockEpochs, "latest">;
  /** Version of the owners. */
  readonly directory: { readonly version: number };
};

export class GoodKeys<Key extends ExpiringKey> {
  readonly #deps: GoodKeysDeps;
  /** By the record, which is another object after each change of the key. */
  readonly #good = new WeakMap<Key, Good>();
  #changes = 0;

  constructor(deps: GoodKeysDeps) {
    this.#deps = deps;
  }

  /** A key, or what is known of its rotation, is not what it was. */
  changed(): void {
    this.#changes += 1;
  }

  has(key: Key): boolean {
    const good = this.#good.get(key);
    if (good === undefined || good.version !== this.#version) return false;
    return good.until === undefined || this.#deps.epochs.latest(good.epoch) < good.until;
  }

  /**
   * The key is good now. Not remembered where that can end without a change, with a grant or with the time since the last use, and for a record
   * that is not the current one.
   */
  add(key: Key): void {
    const term = isFixed(key) && this.#deps.byUid(key.uid) === key ? this.#termOf(key) : undefined;
    if (term !== undefined) this.#good.set(key, { ...term, version: this.#version });
  }

  // Each only goes up, so that the sum is the same only when both are.
  get #version(): number {
    return this.#changes + this.#deps.directory.version;
  }

  #termOf(key: Key): Term | undefined {
    const { byUid, endOf } = this.#deps;
    const { epoch, parentUids } = key;
    if (parentUids.length === 0) return { until: endOf(key), epoch };
    // Its ancestors have their own ends, and clocks.
    const parents = parentUids.map(byUid);
    const areFixed = parents.every(
      (parent) => parent !== undefined && parent.parentUids.length === 0 && isFixed(parent),
    );
    const haveOneClock = parents.every((parent) => parent?.epoch === epoch);
    return areFixed && haveOneClock ? { until: endOf(key), epoch } : undefined;
  }
}

const isFixed = ({ grant, countsFromActivity }: ExpiringKey): boolean => grant === undefined && !countsFromActivity;
