// What follows from the use of a key that was rotated: the first use of the new value ends the old ones, and the use of an old one
// after its end locks the key, since then two parties hold its values.

import type { Clock } from "@postern/apiserver/runtime/clock";
import type { AccessKeyState } from "../access-key-state.ts";
import type { RotationMarks } from "./rotation-marks.ts";
import type { SealedRecordWriter } from "./sealed-record-writer.ts";

export type RotationGuard = {
  /** The key was presented and is good. Costs nothing for keys that were not rotated. */
  accepted(key: AccessKeyState): void;
  /** The key was presented and is refused. */
  refused(key: AccessKeyState): void;
};

export type RotationGuardOptions = {
  readonly marks: RotationMarks;
  /** The value that a key has now. */
  readonly currentOf: (uid: string) => AccessKeyState | undefined;
  readonly writer: SealedRecordWriter;
  readonly clock: Clock;
  readonly onLocked: (key: AccessKeyState) => void;
  /** What could not be written stays in force in memory. */
  readonly onError: (error: unknown) => void;
};

export function createRotationGuard(options: RotationGuardOptions): RotationGuard {
  const { marks, currentOf, writer, clock, onLocked, onError } = options;
  return {
    accepted(key) {
      if (key.hasRetiredValues !== true || key.isRetiredValue === true) return;
      if (!marks.confirm(key.uid, key.id)) return;
      const now = clock.now();
      writer
        .write(key, (sealed) => {
          const isOpen = sealed.key?.id === key.id && sealed.retired.some(({ until }) => until > now);
          if (!isOpen) return undefined;
          return {
            ...sealed,
            retired: sealed.retired.map((value) => ({ ...value, until: Math.min(value.until, now) })),
          };
        })
        .catch(onError);
    },
    refused(key) {
      const current = currentOf(key.uid);
      if (key.isRetiredValue !== true || current === undefined) return;
      // The key may be refused for another reason while its grace is not over.
      const isOver = (key.expiresAt ?? Infinity) <= clock.now() || marks.isConfirmed(key.uid, current.id);
      if (!isOver || !marks.lock(key.uid, current.id)) return;
      onLocked(current);
      writer
        .write(key, (sealed) =>
          sealed.key?.id !== current.id || sealed.lockedAt !== undefined
            ? undefined
            : { ...sealed, lockedAt: clock.now() },
        )
        .catch(onError);
    },
  };
}
