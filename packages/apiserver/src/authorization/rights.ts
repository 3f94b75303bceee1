// The version of all permissions, with notifications of changes, so that long-running requests can be authorized again.

import { ChangeListeners } from "../runtime/change-listeners.ts";

export type Rights = {
  /** Goes up with every change that may change a decision. */
  readonly version: number;
  /** Calls back after changes until disposed: once at least after the last of several. */
  onChange(listener: () => void): Disposable;
};

/** A source of them: a plain number, since each decision looks at all there are. */
export class RightsSource implements Rights {
  version = 0;
  readonly #listeners = new ChangeListeners();

  /** `note` records the version before listeners are notified. */
  changed(note?: (version: number) => void): void {
    this.version++;
    note?.(this.version);
    this.#listeners.call();
  }

  onChange(listener: () => void): Disposable {
    return this.#listeners.add(listener);
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
