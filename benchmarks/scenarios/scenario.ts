// What a benchmark is: the same work asked of Postern, of a peer, and of a server that does nothing.

import type { Order, Target } from "../load/order.ts";

/** `bare`: `servers/bare-server.ts`, the ceiling of everything that is not bound by the disk. */
export type ServerKind = "postern" | "peer" | "bare";

type Setting = {
  readonly kind: ServerKind;
  readonly target: Target;
  /** The virtual cluster that a new server has, as the holder of its kubeconfig sees it; absent if there is none. */
  readonly cluster?: Target;
  /** Objects that are there, `key-0` and so on. */
  readonly objects: number;
  readonly seconds: number;
  /** Goes up with every run, so that no two write the same. */
  readonly run: number;
};

export type Scenario = {
  readonly name: string;
  /** Undefined: not asked of this server. */
  order(setting: Setting): Order | undefined;
  /** Where so much code runs that it takes so many requests until all of it is compiled: what came last was measured half warm. */
  readonly warmUpRequests?: number;
  /** Where the disk is the limit: writes a second, one after the other, are the ceiling. */
  readonly boundByDisk?: boolean;
};

/** Names written in one run are never those of another. */
export const NUMBERS_PER_RUN = 1_000_000;
