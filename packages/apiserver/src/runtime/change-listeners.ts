// A set of change listeners.

/** Functions to call after a change, with what it concerns. */
export class ChangeListeners<Change extends readonly unknown[] = []> {
  readonly #listeners = new Set<(...change: Change) => void>();

  /** The same function may be added twice. */
  add(listener: (...change: Change) => void): Disposable {
    const own = (...change: Change) => listener(...change);
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  /** Calls each of them, also behind one that fails; throws the first failure. */
  call(...change: Change): void {
    const failures: unknown[] = [];
    for (const listener of [...this.#listeners]) {
      try {
        listener(...change);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  clear(): void {
    this.#listeners.clear();
  }
}
