// The latest changes of roles, bindings and other inputs of decisions, so that only affected long-running requests are authorized again.

/** Number of changes in the log; a reader that falls behind must assume that everything has changed. */
const CAPACITY = 1_000;

type Entry<Change> = { readonly version: number; readonly change: Change; readonly weight: number };

export class ChangeLog<Change> {
  readonly #maxWeight: number;
  #entries: Entry<Change>[] = [];
  #weight = 0;
  /** Changes up to this version have been dropped from the log. */
  #forgotten = 0;

  /** `maxWeight` limits what all remembered changes weigh. */
  constructor(maxWeight = Number.POSITIVE_INFINITY) {
    this.#maxWeight = maxWeight;
  }

  /** `version` is the one that the change leads to, and higher than all before. A change that weighs too much is forgotten at once. */
  add(version: number, change: Change, weight = 0): void {
    this.#weight += weight;
    if (this.#weight > this.#maxWeight) {
      this.forget(version);
      return;
    }
    this.#entries.push({ version, change, weight });
    if (this.#entries.length < 2 * CAPACITY) return;
    const dropped = this.#entries.length - CAPACITY;
    this.#forgotten = this.#entries[dropped - 1]?.version ?? this.#forgotten;
    this.#entries = this.#entries.slice(dropped);
    this.#weight = this.#entries.reduce((sum, entry) => sum + entry.weight, 0);
  }

  /** Nothing is known of what changed up to this version. */
  forget(version: number): void {
    this.#forgotten = version;
    this.#entries = [];
    this.#weight = 0;
  }

  /** The changes that led beyond a version; undefined where they are not known any more. */
  since(version: number): readonly Change[] | undefined {
    if (version < this.#forgotten) return undefined;
    let first = this.#entries.length;
    while (first > 0 && (this.#entries[first - 1]?.version ?? 0) > version) first--;
    return this.#entries.slice(first).map(({ change }) => change);
  }
}
