// Waits for an etcd that starts at the same time as the server: its members accept connections before they have elected a leader.

import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { EtcdTls } from "../etcd-connection.ts";
import { isTransient } from "../etcd-errors.ts";
import { GrpcError } from "../grpc/grpc-error.ts";
import { whyUnreachable } from "./why-unreachable.ts";

export type WaitForLeaderOptions = {
  /** Each `host:port`. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls;
  /** No try begins later, in milliseconds after the first one. */
  readonly patienceMs: number;
  /** Called once, after the first try; never where that succeeds or is final. */
  readonly onWaiting: (error: StorageUnavailableError) => void;
  /** Aborted: there are no further tries. */
  readonly signal?: AbortSignal | undefined;
};

const REACH_MS = 1_000;

/**
 * Repeats `open` while it rejects with StorageUnavailableError and at least one endpoint accepts connections. Other failures are those of the
 * first try: where nothing listens, or a certificate is refused, the operator has to know at once.
 */
export async function openWithLeader<Opened>(
  open: () => Promise<Opened>,
  { endpoints, tls, patienceMs, onWaiting, signal }: WaitForLeaderOptions,
): Promise<Opened> {
  const end = performance.now() + patienceMs;
  // A try takes as long as a request may, so that they need no pause between them.
  for (let tries = 1; ; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof StorageUnavailableError) || !isOfMoment(error)) throw error;
      if (signal?.aborted === true || performance.now() >= end) throw error;
      if (!(await isOneReachable(endpoints, tls))) throw error;
      if (tries === 1) onWaiting(error);
    }
  }
}

/** Whether etcd may well answer later: it has not refused the credentials, for example. */
function isOfMoment(error: Error): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof GrpcError) return isTransient(cause);
  }
  return false;
}

async function isOneReachable(endpoints: readonly string[], tls: EtcdTls | undefined): Promise<boolean> {
  const reasons = await Promise.all(endpoints.map((address) => whyUnreachable(address, tls, REACH_MS)));
  // A member that has never had a leader is silent.
  return reasons.some((reason) => reason === undefined || reason === "no answer in time");
}
