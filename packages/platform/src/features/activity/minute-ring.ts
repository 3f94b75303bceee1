// Counts of each of the last minutes, in arrays of a fixed size.

export const MINUTE_MS = 60_000;

/** A clock that was set back by more starts with empty counts: minutes would overwrite each other. */
const TOLERATED_MINUTES = 5;

export type MinuteCounts = { readonly [name in CountName]: readonly number[] };
export type CountName = "requests" | "refused" | "failed" | "watches";
const SUMS = ["requests", "refused", "failed"] as const;

export class MinuteRing {
  readonly #size: number;
  readonly #counts: { readonly [name in CountName]: Uint32Array };
  /** Minutes since the epoch. */
  #first: number;
  #newest: number;

  /** `size`: minutes that are kept. `now`: milliseconds since the epoch. */
  constructor(size: number, now: number) {
    this.#size = size;
    const counts = (): Uint32Array => new Uint32Array(size);
    this.#counts = { requests: counts(), refused: counts(), failed: counts(), watches: counts() };
    this.#newest = minuteOf(now);
    this.#first = this.#newest;
  }

  add(name: CountName, now: number): void {
    this.#advance(now);
    const at = this.#newest % this.#size;
    this.#counts[name][at] = (this.#counts[name][at] ?? 0) + 1;
  }

  /** Keeps the highest of the values that a minute is given. */
  raise(name: CountName, value: number, now: number): void {
    this.#advance(now);
    const at = this.#newest % this.#size;
    this.#counts[name][at] = Math.max(this.#counts[name][at] ?? 0, value);
  }

  /** Adds what another ring has counted, but for the highest values. */
  addCounts(from: number, counts: MinuteCounts, now: number): void {
    this.#advance(now);
    for (const name of SUMS) {
      for (const [index, count] of counts[name].entries()) {
        const minute = minuteOf(from) + index;
        if (minute <= this.#newest - this.#size || minute > this.#newest) continue;
        const at = minute % this.#size;
        this.#counts[name][at] = (this.#counts[name][at] ?? 0) + count;
      }
    }
  }

  /** The minutes that are known, oldest first; the last is not over. `from`: the begin of the first, in milliseconds since the epoch. */
  read(now: number): { readonly from: number; readonly counts: MinuteCounts } {
    this.#advance(now);
    const first = Math.max(this.#first, this.#newest - this.#size + 1);
    const minutes = Array.from({ length: this.#newest - first + 1 }, (_, index) => (first + index) % this.#size);
    const valuesOf = (name: CountName) => minutes.map((at) => this.#counts[name][at] ?? 0);
    return {
      from: first * MINUTE_MS,
      counts: {
        requests: valuesOf("requests"),
        refused: valuesOf("refused"),
        failed: valuesOf("failed"),
        watches: valuesOf("watches"),
      },
    };
  }

  #advance(now: number): void {
    const minute = minuteOf(now);
    if (minute === this.#newest) return;
    if (minute < this.#newest - TOLERATED_MINUTES) {
      this.#clear(0, this.#size);
      this.#newest = minute;
      this.#first = minute;
      return;
    }
    if (minute < this.#newest) return;
    const passed = Math.min(minute - this.#newest, this.#size);
    for (let step = 1; step <= passed; step++) {
      const at = (minute - passed + step) % this.#size;
      this.#clear(at, at + 1);
    }
    this.#newest = minute;
  }

  #clear(from: number, to: number): void {
    for (const counts of Object.values(this.#counts)) counts.fill(0, from, to);
  }
}

const minuteOf = (now: number): number => Math.floor(now / MINUTE_MS);
