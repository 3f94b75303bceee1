// Decides when a store forgets its history: once it is so old, or once there is so much of it.
// Source of the idea: k8s.io/apiserver/pkg/storage/etcd3/compact.go

import type { Scheduler } from "../runtime/clock.ts";
import type { Revision, Storage } from "./storage.ts";

export type CompactionScheduleOptions = {
  readonly storage: Pick<Storage, "currentRevision" | "compact">;
  readonly scheduler: Scheduler;
  /** History younger than this stays, in milliseconds, so that lists can be continued and watches resumed; 5 minutes when absent. */
  readonly keepMs?: number;
  /** But never more than so many revisions; 1,000,000 when absent. */
  readonly keepRevisions?: number;
  /** Told what went wrong; it is tried again at the next turn. */
  readonly onError?: (error: unknown) => void;
};

const DEFAULT_KEEP_MS = 5 * 60_000;
const DEFAULT_KEEP_REVISIONS = 1_000_000;
/** History is forgotten in so many parts of the time it is kept: small steps instead of one large one. */
const STEPS = 10;

/** Runs until it is disposed. Several servers on one store may each have one: forgetting twice is forgetting once. */
export function startCompactionSchedule(options: CompactionScheduleOptions): Disposable {
  const { storage, scheduler, onError = () => {} } = options;
  const { keepMs = DEFAULT_KEEP_MS, keepRevisions = DEFAULT_KEEP_REVISIONS } = options;
  /** The newest revision at each of the last turns, the oldest first. */
  const seen: Revision[] = [];
  let compacted: Revision = 0;
  let timer: Disposable | undefined;
  let over = false;

  const turn = async () => {
    const current = await storage.currentRevision();
    seen.push(current);
    const old = seen.length > STEPS ? (seen.shift() ?? 0) : 0;
    const target = Math.max(old, current - keepRevisions);
    if (over || target <= compacted) return;
    await storage.compact(target);
    compacted = target;
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
  plan();
  return {
    [Symbol.dispose]() {
      over = true;
      timer?.[Symbol.dispose]();
    },
  };
}
