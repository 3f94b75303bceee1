// What really happened in the store, to hold against what replicas and clients have seen.

import type { Revision, Storage } from "@postern/apiserver/storage/storage";
import { keyOf, revisionOf } from "@postern/apiserver/storage/watcher-set";

export type Change = { readonly type: "put" | "delete"; readonly key: string; readonly revision: Revision };

export class TrueHistory {
  /** The change at revision r is at r - 2: an empty store is at 1, and each change takes one revision. */
  readonly #changes: Change[] = [];

  constructor(store: Storage) {
    store.watch("", 1, {
      events: (events) => {
        for (const event of events) {
          this.#changes.push({ type: event.type, key: keyOf(event), revision: revisionOf(event) });
        }
      },
      error: (error) => {
        throw error;
      },
    });
  }

  get revision(): Revision {
    return this.#changes.length + 1;
  }

  at(revision: Revision): Change | undefined {
    return this.#changes[revision - 2];
  }

  /** After one revision and up to another. */
  between(after: Revision, upTo: Revision, prefix: string): Change[] {
    return this.#changes.slice(Math.max(after - 1, 0), upTo - 1).filter(({ key }) => key.startsWith(prefix));
  }
}

/** The state of a prefix, brought forward along the history: the revision of each key that is there. */
export class TrueState {
  readonly #history: TrueHistory;
  readonly #prefix: string;
  readonly revisions = new Map<string, Revision>();
  #revision: Revision = 1;

  constructor(history: TrueHistory, prefix: string) {
    this.#history = history;
    this.#prefix = prefix;
  }

  moveTo(revision: Revision): void {
    for (const change of this.#history.between(this.#revision, revision, this.#prefix)) {
      if (change.type === "put") this.revisions.set(change.key, change.revision);
      else this.revisions.delete(change.key);
    }
    this.#revision = revision;
  }
}
