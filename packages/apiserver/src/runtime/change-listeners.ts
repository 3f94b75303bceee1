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

  call(...change: Change): void {
    for (const listener of [...this.#listeners]) listener(...change);
  }

  clear(): void {
    this.#listeners.clear();
  }
}
