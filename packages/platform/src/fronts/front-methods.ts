// Messages between the first front and a further one.

import type { ServerTable } from "@postern/stores/sqlite/server-table";
import type { SqliteConnection } from "@postern/stores/sqlite/sqlite-storage";
import type { UsedProof } from "../features/access-keys/proofs/used-proofs.ts";
import type { ActivitySnapshot } from "../features/activity/activity-snapshot.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import type { ThreadBeats } from "../foundation/stall-watch.ts";
import type { ServerSecrets } from "../foundation/store/server-keys.ts";
import type { ServingIdentity } from "../server/serving-identity.ts";
import type { LeftOut, SentAudit } from "./audit-through-first.ts";
import type { FrontShare } from "./front-share.ts";
import type { FrontMetrics } from "./sum-metrics.ts";

/** Methods of the first. */
export type FirstCalls = {
  /** Resolves once the lines are as safe as the sink of the first promises. */
  readonly audit: { readonly args: SentAudit; readonly result: LeftOut };
  readonly isLinkValid: { readonly args: string; readonly result: boolean };
  readonly takeLink: { readonly args: string; readonly result: boolean };
  readonly takeProof: { readonly args: UsedProof; readonly result: boolean | undefined };
  readonly gatherUses: { readonly args: readonly string[] | undefined; readonly result: undefined };
  /** Names of limits. Resolves with a number, once the caller alone holds them. */
  readonly holdLimits: { readonly args: readonly string[]; readonly result: number };
  readonly scrape: { readonly args: undefined; readonly result: string };
  readonly activity: { readonly args: undefined; readonly result: ActivitySnapshot };
};
export type FirstNotes = {
  /** It serves requests from now on. */
  readonly ready: undefined;
  /** The number that `holdLimits` gave. */
  readonly releaseLimits: number;
  /** Counted since the last of these. */
  readonly activity: ActivitySnapshot;
};

/** Methods of a further one. */
export type FurtherCalls = {
  readonly metrics: { readonly args: undefined; readonly result: FrontMetrics };
  /** Resolves behind the note with what has been counted. */
  readonly handOverActivity: { readonly args: undefined; readonly result: undefined };
  readonly writeUses: { readonly args: readonly string[] | undefined; readonly result: undefined };
  /** Resolves when it has no connections any more: it takes none, and each ends behind its requests. */
  readonly retire: { readonly args: undefined; readonly result: undefined };
  /** Resolves once it reads from no connection any more. */
  readonly stopReading: { readonly args: undefined; readonly result: undefined };
  /** Resolves with its last counts, once its requests are finished, all is closed, and it reads no more. */
  readonly close: { readonly args: undefined; readonly result: FrontMetrics };
};
export type FurtherNotes = {
  readonly serving: ServingIdentity;
  /** So many of its connections end behind their requests. */
  readonly move: number;
};

/** A further front starts with this. */
export type FurtherFrontData = {
  readonly isFront: true;
  /** From 1 on. */
  readonly number: number;
  /** Its own among all servers on the store, also those that have ended. */
  readonly id: string;
  /** The configuration of the whole server. */
  readonly configuration: Configuration;
  /** As many fronts as there are from the start on share its memory. */
  readonly first: number;
  /** As many fronts share its limits. */
  readonly share: FrontShare;
  /** Complete. */
  readonly secrets: ServerSecrets;
  readonly port: number;
  readonly serving: ServingIdentity;
  readonly ticketKeys: Uint8Array;
  readonly table: ServerTable;
  /** Absent: it opens the store for itself. */
  readonly connection?: SqliteConnection;
  readonly state: FrontState;
};

/** Shared: counts the beats of the front, has its id and its load, and says whether the memory of the process is short. */
export type FrontState = SharedArrayBuffer;

const [BEATS, IS_SHORT, BUSY_MS, CONNECTIONS, THREAD_ID, CELLS] = [0, 1, 2, 3, 4, 5];

export const createFrontState = (): FrontState => new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT);

/** `id`: that of the operating system. */
export const setThreadId = (state: FrontState, id: number): void =>
  void Atomics.store(new Int32Array(state), THREAD_ID, id);

/** `busyMs`: for how long the event loop has worked since its start. */
export function beat(state: FrontState, { busyMs, connections }: FrontSums = { busyMs: 0, connections: 0 }): void {
  const cells = new Int32Array(state);
  // Wraps around after weeks, and differences do not mind.
  Atomics.store(cells, BUSY_MS, busyMs | 0);
  Atomics.store(cells, CONNECTIONS, connections);
  Atomics.add(cells, BEATS, 1);
}
export type FrontSums = { readonly busyMs: number; readonly connections: number };
export function sumsOf(state: FrontState): FrontSums {
  const cells = new Int32Array(state);
  return { busyMs: Atomics.load(cells, BUSY_MS), connections: Atomics.load(cells, CONNECTIONS) };
}
export function beatsOf(state: FrontState): ThreadBeats {
  const cells = new Int32Array(state);
  return {
    get beats() {
      return Atomics.load(cells, BEATS);
    },
    get threadId() {
      return Atomics.load(cells, THREAD_ID);
    },
  };
}
export const setMemoryShort = (state: FrontState, isShort: boolean): void =>
  void Atomics.store(new Int32Array(state), IS_SHORT, isShort ? 1 : 0);
export const isMemoryShort = (state: FrontState): boolean => Atomics.load(new Int32Array(state), IS_SHORT) === 1;
