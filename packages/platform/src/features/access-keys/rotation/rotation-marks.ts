// Rotations before they are written: which new values have been used, and which keys are locked. It is in force at once.

import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";

export type RotationMarks = {
  /** The value `id` of the key has been used, so that those before it are over. Returns whether that is news. */
  confirm(uid: string, id: string): boolean;
  isConfirmed(uid: string, id: string): boolean;
  /** A value from before `id` was used after its end. Returns whether that is news. */
  lock(uid: string, id: string): boolean;
  /** The value of the key that was locked. */
  lockedIdOf(uid: string): string | undefined;
  forget(uid: string): void;
  /** Calls back with the uid of every key about which there is news. */
  onChange(listener: (uid: string) => void): Disposable;
};

/** Marks belong to the value that the key had then: the next one begins without them. */
export function createRotationMarks(): RotationMarks {
  const confirmed = new Map<string, string>();
  const locked = new Map<string, string>();
  const listeners = new ChangeListeners<[uid: string]>();
  const mark = (marks: Map<string, string>, uid: string, id: string): boolean => {
    if (marks.get(uid) === id) return false;
    marks.set(uid, id);
    listeners.call(uid);
    return true;
  };
  return {
    confirm: (uid, id) => mark(confirmed, uid, id),
    isConfirmed: (uid, id) => confirmed.get(uid) === id,
    lock: (uid, id) => mark(locked, uid, id),
    lockedIdOf: (uid) => locked.get(uid),
    forget(uid) {
      confirmed.delete(uid);
      locked.delete(uid);
    },
    onChange: (listener) => listeners.add(listener),
  };
}
