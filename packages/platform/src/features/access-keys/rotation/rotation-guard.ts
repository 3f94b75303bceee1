// Handles uses of rotated keys: the first use of the new value ends the old ones. The use of an old value after its end locks the key, since two
// parties have its values.

import type { Foundation } from "../../../foundation/foundation.ts";
import type { AccessKeyState } from "../access-key-state.ts";
import { endedValue } from "../record/sealed-access-key.ts";
import type { RotationMarks } from "./rotation-marks.ts";
import type { SealedRecordWriter } from "./sealed-record-writer.ts";

/** Disposing it tries once more to write what is unwritten. */
export type RotationGuard = AsyncDisposable & {
  /** The key was presented and is valid. Costs nothing for keys that were not rotated. */
  accepted(key: AccessKeyState): void;
  /** The key was presented and is refused. */
  refused(key: AccessKeyState): void;
};

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

type Change = Parameters<SealedRecordWriter["write"]>[1];
type Write = { readonly key: AccessKeyState; readonly change: Change };

/** A change that could not be written is in force in memory, and is tried again. */
export function createRotationGuard(
  { runtime: { clock, scheduler }, onError }: Pick<Foundation, "runtime" | "onError">,
  needs: {
    readonly marks: RotationMarks;
    /** The value that a key has now. */
    readonly currentOf: (uid: string) => AccessKeyState | undefined;
    readonly writer: SealedRecordWriter;
    readonly onLocked: (key: AccessKeyState) => void;
    /** A retired value was used after its end, whether or not that locks anything. */
    readonly onRetiredUse: () => void;
  },
): RotationGuard {
  const { marks, currentOf, writer, onLocked, onRetiredUse } = needs;
  const waiting = new Map<Write, Disposable>();
  const running = new Set<Promise<void>>();
  let disposed = false;

  /** A change in force in memory alone would end with the process, so it is tried until it is written or its key is gone. */
  const write = (job: Write, retryMs = FIRST_RETRY_MS): void => {
    const attempt = writer.write(job.key, job.change).then(
      () => {},
      (error: unknown) => {
        onError(error, "key-rotation");
        if (disposed) return;
        const retry = (): void => {
          waiting.delete(job);
          write(job, Math.min(2 * retryMs, MAX_RETRY_MS));
        };
        waiting.set(job, scheduler.schedule(retryMs, retry));
      },
    );
    running.add(attempt);
    void attempt.then(() => running.delete(attempt));
  };

  return {
    accepted(key) {
      if (key.retired === undefined || key.retired.length === 0 || key.isRetiredValue === true) return;
      if (!marks.confirm(key.uid, key.id)) return;
      const now = clock.now();
      write({
        key,
        change: (sealed) => {
          // By this server's clock the grace period has ended; another server's clock may differ.
          const isOpen = sealed.key?.id === key.id && sealed.retired.some(({ isOver }) => isOver !== true);
          return isOpen ? { ...sealed, retired: sealed.retired.map((value) => endedValue(value, now)) } : undefined;
        },
      });
    },
    refused(key) {
      const current = currentOf(key.uid);
      if (key.isRetiredValue !== true || current === undefined) return;
      // The key may be refused for another reason while its grace is not over.
      const isOver = (key.expiresAt ?? Infinity) <= clock.now() || marks.isConfirmed(key.uid, current.id);
      if (!isOver) return;
      onRetiredUse();
      // An inert value is known to be in the wrong hands: a lock would only give its holders a way to shut the owner out.
      if (key.isInert === true || !marks.lock(key.uid, current.id)) return;
      onLocked(current);
      const lockedAt = clock.now();
      write({
        key,
        change: (sealed) =>
          sealed.key?.id !== current.id || sealed.lockedAt !== undefined || sealed.leak !== undefined
            ? undefined
            : { ...sealed, lockedAt },
      });
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      await Promise.all(running);
      for (const [job, timer] of waiting) {
        timer[Symbol.dispose]();
        write(job);
      }
      waiting.clear();
      await Promise.all(running);
    },
  };
}
