// Messages between the first front and a further one.

import type { ServerTable } from "@postern/stores/sqlite/server-table";
import type { SqliteConnection } from "@postern/stores/sqlite/sqlite-storage";
import type { UsedProof } from "../features/access-keys/proofs/used-proofs.ts";
import type { ActivitySnapshot } from "../features/activity/activity-snapshot.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import type { ServerSecrets } from "../foundation/store/server-keys.ts";
import type { ServingIdentity } from "../server/serving-identity.ts";
import type { FrontMetrics } from "./sum-metrics.ts";

/** Methods of the first. */
export type FirstCalls = {
  /** Packed lines. Resolves once they are as safe as the sink of the first promises. */
  readonly audit: { readonly args: string; readonly result: undefined };
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
};

/** Methods of a further one. */
export type FurtherCalls = {
  readonly metrics: { readonly args: undefined; readonly result: FrontMetrics };
  readonly activity: { readonly args: undefined; readonly result: ActivitySnapshot };
  readonly writeUses: { readonly args: readonly string[] | undefined; readonly result: undefined };
  /** Resolves with its last counts, once its requests are finished and all is closed. */
  readonly close: { readonly args: undefined; readonly result: FrontMetrics };
};
export type FurtherNotes = { readonly serving: ServingIdentity };

/** A further front starts with this. */
export type FurtherFrontData = {
  readonly isFront: true;
  /** From 1 on. */
  readonly number: number;
  /** Its own among all servers on the store, also those that have ended. */
  readonly id: string;
  /** The configuration of the whole server. */
  readonly configuration: Configuration;
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

/** Shared: counts the beats of the front, and says whether the memory of the process is short. */
export type FrontState = SharedArrayBuffer;

const [BEATS, IS_SHORT] = [0, 1];
export const BEAT_MS = 200;

export const createFrontState = (): FrontState => new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT);

export const beat = (state: FrontState): void => void Atomics.add(new Int32Array(state), BEATS, 1);
export const beatsOf = (state: FrontState): number => Atomics.load(new Int32Array(state), BEATS);
export const setMemoryShort = (state: FrontState, isShort: boolean): void =>
  void Atomics.store(new Int32Array(state), IS_SHORT, isShort ? 1 : 0);
export const isMemoryShort = (state: FrontState): boolean => Atomics.load(new Int32Array(state), IS_SHORT) === 1;
