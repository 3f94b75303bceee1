// What decisions follow from: counted, and told of when it changes, so that what lasts can be decided again.

export type Rights = {
  /** Goes up with every change that may change a decision. */
  readonly version: number;
  /** Calls back after changes until disposed: once at least after the last of several. */
  onChange(listener: () => void): Disposable;
};

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
