// When keys were used last, exact and in memory; what is written of it lags behind by a minute at most.

import { createHash } from "node:crypto";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ClockEpoch, ClockEpochs } from "@postern/apiserver/runtime/clock-epochs";

export type LastActivity = {
  /** `uid` of the key's record; `at` in milliseconds since the epoch. Costs one map entry. */
  record(uid: string, at: number): void;
  /** Undefined while the key has not been used since the server started. */
  of(uid: string): number | undefined;
  /** That in which it was used last; meaningful where `of` is. */
  epochOf(uid: string): ClockEpoch;
  /** uids used since they were last taken. */
  takeUnwritten(): readonly string[];
  /** Puts one back that could not be written. */
  returnUnwritten(uid: string): void;
  forget(uid: string): void;
};

export function createLastActivity(epochs: ClockEpochs): LastActivity {
  const times = new Map<string, number>();
  /** Only of those that are not in the first one: nearly no process sees another. */
  const epochOfUse = new Map<string, ClockEpoch>();
  const epochOf = (uid: string): ClockEpoch => epochOfUse.get(uid) ?? 0;
  let unwritten = new Set<string>();
  return {
    record(uid, at) {
      const known = times.get(uid);
      const epoch = epochs.current();
      // After the clock was set back a later use has an earlier time.
      if (known !== undefined && known >= at && epoch === epochOf(uid)) return;
      times.set(uid, at);
      if (epoch !== 0) epochOfUse.set(uid, epoch);
      unwritten.add(uid);
    },
    of: (uid) => times.get(uid),
    epochOf,
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
      epochOfUse.delete(uid);
      unwritten.delete(uid);
    },
  };
}

// Tells whether anything of a key but its activity has changed.

/** Of everything but what changes with use alone. The kind is left out, since the records are served under two. */
export function digestWithoutActivity({ apiVersion: _v, kind: _k, status: _s, metadata, ...rest }: KubeObject): string {
  const { resourceVersion: _, ...meta } = metadata;
  return createHash("sha256")
    .update(stringifyJson({ metadata: meta, ...rest }))
    .digest("base64url");
}
