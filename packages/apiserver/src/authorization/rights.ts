// What decisions follow from: counted, and told of when it changes, so that what lasts can be decided again.

export type Rights = {
  /** Goes up with every change that may change a decision. */
  readonly version: number;
  /** Calls back after changes until disposed: once at least after the last of several. */
  onChange(listener: () => void): Disposable;
};

/** Whom to call after a change. */
export class ChangeListeners {
  readonly #listeners = new Set<() => void>();

  add(listener: () => void): Disposable {
    // Told apart from the same function given twice.
    const own = () => listener();
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  call(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Decisions that follow from all of these. Each version only goes up, so the sum is the same only when every part is. */
export const combinedRights = (parts: readonly Rights[]): Rights => ({
  get version() {
    let version = 0;
    for (const part of parts) version += part.version;
    return version;
  },
  onChange(listener) {
    const handles = parts.map((part) => part.onChange(listener));
    return {
      [Symbol.dispose]() {
        for (const handle of handles) handle[Symbol.dispose]();
      },
    };
  },
});
