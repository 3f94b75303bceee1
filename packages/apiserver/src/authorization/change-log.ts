// The latest changes of roles, bindings and other inputs of decisions, so that only affected long-running requests are authorized again.

/** So many are remembered; who looks less often has to take everything for changed. */
const CAPACITY = 1_000;

type Entry<Change> = { readonly version: number; readonly change: Change };

export class ChangeLog<Change> {
  #entries: Entry<Change>[] = [];
  /** Of changes up to this version nothing is known. */
  #forgotten = 0;

  /** `version` is the one that the change leads to, and higher than all before. */
  add(version: number, change: Change): void {
    this.#entries.push({ version, change });
    if (this.#entries.length < 2 * CAPACITY) return;
    const dropped = this.#entries.length - CAPACITY;
    this.#forgotten = this.#entries[dropped - 1]?.version ?? this.#forgotten;
    this.#entries = this.#entries.slice(dropped);
  }

  /** Nothing is known of what changed up to this version. */
  forget(version: number): void {
    this.#forgotten = version;
    this.#entries = [];
  }

  /** The changes that led beyond a version; undefined where they are not known any more. */
  since(version: number): readonly Change[] | undefined {
    if (version < this.#forgotten) return undefined;
    let first = this.#entries.length;
    while (first > 0 && (this.#entries[first - 1]?.version ?? 0) > version) first--;
    return this.#entries.slice(first).map(({ change }) => change);
  }
}
