// When keys were used last, exact and in memory; what is written of it lags behind by a minute at most.

export type LastActivity = {
  /** `uid` of the key's record; `at` in milliseconds since the epoch. Costs one map entry. */
  record(uid: string, at: number): void;
  /** Undefined while the key has not been used since the server started. */
  of(uid: string): number | undefined;
  /** uids used since they were last taken. */
  takeUnwritten(): readonly string[];
  /** Puts one back that could not be written. */
  returnUnwritten(uid: string): void;
  forget(uid: string): void;
};

export function createLastActivity(): LastActivity {
  const times = new Map<string, number>();
  let unwritten = new Set<string>();
  return {
    record(uid, at) {
      const known = times.get(uid);
      if (known !== undefined && known >= at) return;
      times.set(uid, at);
      unwritten.add(uid);
    },
    of: (uid) => times.get(uid),
    takeUnwritten() {
      const taken = [...unwritten];
      unwritten = new Set();
      return taken;
    },
    returnUnwritten(uid) {
      if (times.has(uid)) unwritten.add(uid);
    },
    forget(uid) {
      times.delete(uid);
      unwritten.delete(uid);
    },
  };
}
