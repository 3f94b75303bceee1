// Decides when a store compacts its history, by age and by size.
// Source of the idea: k8s.io/apiserver/pkg/storage/etcd3/compact.go

import type { Scheduler } from "../runtime/clock.ts";
import { createHistorySize } from "./history-size.ts";
import type { Revision, Storage, StorageEvent } from "./storage.ts";
import { keyOf } from "./watcher-set.ts";

const DEFAULT_KEEP_MS = 5 * 60_000;
const DEFAULT_KEEP_REVISIONS = 1_000_000;
const DEFAULT_KEEP_BYTES = 512 << 20;
/** History is compacted in this many steps within its retention: small steps instead of a large one. */
const STEPS = 10;

/** Runs until it is disposed. Several servers on one store may each have one: forgetting twice is forgetting once. */
export function startCompactionSchedule(deps: {
  readonly storage: Pick<Storage, "currentRevision" | "compact" | "watch">;
  readonly scheduler: Scheduler;
  /** History younger than this stays, in milliseconds, so that lists can be continued and watches resumed; 5 minutes when absent. */
  readonly keepMs?: number;
  /** But at most this many revisions; default 1,000,000. */
  readonly keepRevisions?: number;
  /** And at most about this many bytes, of those written while this runs; default 512 MiB. */
  readonly keepBytes?: number;
  /** Told what went wrong; it is tried again at the next turn. */
  readonly onError?: (error: unknown) => void;
}): Disposable {
  const { storage, scheduler, onError = () => {} } = deps;
  const { keepMs = DEFAULT_KEEP_MS, keepRevisions = DEFAULT_KEEP_REVISIONS, keepBytes = DEFAULT_KEEP_BYTES } = deps;
  /** The newest revision at each of the last turns, the oldest first. */
  const seen: Revision[] = [];
  const size = createHistorySize(keepBytes);
  /** Up to here everything is forgotten, or is about to be. */
  let wanted: Revision = 0;
  let running = Promise.resolve();
  let timer: Disposable | undefined;
  let watch: Disposable | undefined;
  let over = false;

  const compactTo = (target: Revision): Promise<void> => {
    if (target <= wanted) return running;
    const before = wanted;
    wanted = target;
    running = running.then(async () => {
      try {
        if (!over) await storage.compact(target);
      } catch (error) {
        // Forgotten at a later turn.
        if (wanted === target) wanted = before;
        onError(error);
      }
    });
    return running;
  };
  const turn = async () => {
    const current = await storage.currentRevision();
    follow(current);
    seen.push(current);
    const old = seen.length > STEPS ? (seen.shift() ?? 0) : 0;
    await compactTo(Math.max(old, current - keepRevisions));
  };
  /** Counts writes of all servers. A watch that ends is renewed at the next turn. */
  const follow = (from: Revision) => {
    if (over) return;
    watch ??= storage.watch("", from, {
      events(events, revision) {
        const target = size.written(bytesOf(events), revision);
        if (target !== undefined) void compactTo(target);
      },
      error() {
        watch = undefined;
      },
    });
  };
  const plan = () => {
    timer = scheduler.schedule(keepMs / STEPS, () => {
      void turn()
        .catch(onError)
        .finally(() => {
          if (!over) plan();
        });
    });
  };
  storage.currentRevision().then(follow, () => {});
  plan();
  return {
    [Symbol.dispose]() {
      over = true;
      timer?.[Symbol.dispose]();
      watch?.[Symbol.dispose]();
    },
  };
}

function bytesOf(events: readonly StorageEvent[]): number {
  let bytes = 0;
  for (const event of events) bytes += keyOf(event).length + (event.type === "put" ? event.entry.value.byteLength : 0);
  return bytes;
}
