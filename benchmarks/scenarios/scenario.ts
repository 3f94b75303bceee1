// A benchmark scenario: the same work for Postern, a peer, and a server that does nothing.

import type { Order, Target } from "../load/order.ts";

/** `bare`: `servers/bare-server.ts`, the ceiling of everything that is not limited by the disk. */
export type ServerKind = "postern" | "peer" | "bare";

type Setting = {
  readonly kind: ServerKind;
  readonly target: Target;
  /** The virtual cluster of a new server, accessed with its kubeconfig; absent if there is none. */
  readonly cluster?: Target;
  /** An external virtual cluster, which is the bare server, accessed with its kubeconfig. */
  readonly remote?: Target;
  /** Existing objects, `key-0` and so on. */
  readonly objects: number;
  readonly seconds: number;
  /** Increases with every run, so that no two runs write the same. */
  readonly run: number;
};

export type Scenario = {
  readonly name: string;
  /** Undefined: not measured on this server. */
  order(setting: Setting): Order | undefined;
  /** The number of requests until all code of the work is compiled; with fewer, the last rows would be measured half warm. */
  readonly warmUpRequests?: number;
  /** If the disk is the limit: sequential writes per second are the ceiling. */
  readonly boundByDisk?: boolean;
};

/**
 * Until the code of reads and writes of one object is compiled. In the 10,000 CREATEs after 5,000, V8's threads took 114 µs for each,
 * after 30,000 they took 33.
 */
export const WARM_UP_REQUESTS = 20_000;

/** Names written in one run are never used in another. */
export const NUMBERS_PER_RUN = 1_000_000;
