// The version of all permissions, with notifications of changes, so that long-running requests can be authorized again.

import { ChangeListeners } from "../runtime/change-listeners.ts";

export type PolicyVersion = {
  /** Increases with every change that may affect a decision. */
  readonly version: number;
  /** Calls back after changes until disposed: at least once after the last of several. */
  onChange(listener: () => void): Disposable;
};

/** A policy version that is increased by hand. */
export class PolicyVersionSource implements PolicyVersion {
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

/** For decisions that depend on all parts. Versions only increase, so the sum is unchanged only if every part is. */
export const combinedPolicyVersion = (parts: readonly PolicyVersion[]): PolicyVersion => ({
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
