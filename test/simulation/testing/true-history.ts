// The true history of the store, to compare with the observations of replicas and clients.

import type { Revision, Storage } from "@postern/apiserver/storage/storage";
import { keyOf, revisionOf } from "@postern/apiserver/storage/watcher-set";

export type Change = { readonly type: "put" | "delete"; readonly key: string; readonly revision: Revision };

type Checkpoint = { readonly revision: Revision; readonly state: ReadonlyMap<string, Revision> };

const CHECKPOINT_EVERY = 1_000;

export class TrueHistory {
  /** The change at revision r is at r - 2: an empty store is at 1, and each change takes one revision. */
  readonly #changes: Change[] = [];
  readonly #newest = new Map<string, Revision>();
  /** The whole state at every so many revisions, to begin from. */
  readonly #checkpoints: Checkpoint[] = [];

  constructor(store: Storage) {
    store.watch("", 1, {
      events: (events) => {
        for (const event of events) {
          this.#add({ type: event.type, key: keyOf(event), revision: revisionOf(event) });
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

  #add(change: Change): void {
    this.#changes.push(change);
    apply(this.#newest, change);
    if (this.#changes.length % CHECKPOINT_EVERY !== 0) return;
    this.#checkpoints.push({ revision: change.revision, state: new Map(this.#newest) });
  }

  /** The last one at or before a revision; undefined when that is the empty state. */
  checkpoint(revision: Revision): Checkpoint | undefined {
    return this.#checkpoints[Math.floor((revision - 1) / CHECKPOINT_EVERY) - 1];
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
  #revisions = new Map<string, Revision>();
  #revision: Revision = 1;

  constructor(history: TrueHistory, prefix: string) {
    this.#history = history;
    this.#prefix = prefix;
  }

  get revisions(): ReadonlyMap<string, Revision> {
    return this.#revisions;
  }

  moveTo(revision: Revision): void {
    const checkpoint = this.#history.checkpoint(revision);
    if (checkpoint !== undefined && checkpoint.revision > this.#revision) {
      this.#revisions = new Map([...checkpoint.state].filter(([key]) => key.startsWith(this.#prefix)));
      this.#revision = checkpoint.revision;
    }
    for (const change of this.#history.between(this.#revision, revision, this.#prefix)) {
      apply(this.#revisions, change);
    }
    this.#revision = revision;
  }
}

function apply(state: Map<string, Revision>, { type, key, revision }: Change): void {
  if (type === "put") state.set(key, revision);
  else state.delete(key);
}
