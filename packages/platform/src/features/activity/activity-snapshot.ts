// The activity of a server as plain data. The threads of one server give each other parts of it.

import type { MinuteCounts } from "./minute-ring.ts";
import type { CertificateUse } from "./recent-certificates.ts";
import type { RecentChange } from "./recent-changes.ts";

/** With the holder where it is a client certificate. */
export type CountedKey = { readonly id: string; readonly count: number } & Partial<CertificateUse>;

export type ActivitySnapshot = {
  /** Milliseconds since the epoch: the begin of the first minute of `counts`. */
  readonly from: number;
  readonly counts: MinuteCounts;
  readonly openWatches: number;
  /** Milliseconds since the epoch; undefined since the start. */
  readonly metricsReadAt: number | undefined;
  /** The most frequent first. */
  readonly used: readonly CountedKey[];
  readonly refused: readonly CountedKey[];
  /** The changes of the last hour, the newest first. */
  readonly changes: readonly RecentChange[];
};
