// The running embedded clusters: each is started at its first use, and stopped when it is idle.

import type { Runtime } from "@postern/apiserver/runtime/clock";
import { createSharedAbortController } from "@postern/apiserver/storage/shared-abort-controller";
import type { EmbeddedCluster } from "./embedded-cluster.ts";

export type RunningClusters<Cluster> = Disposable & {
  /** Starts it if it is not running; rejects if the start fails. The next caller tries again. */
  open(uid: string): Promise<Cluster>;
  /** One that is started or being started; does not start it, and does not count as a use. */
  openNow(uid: string): Promise<Cluster> | undefined;
  stop(uid: string): Promise<void>;
  /** Milliseconds since it was opened or used; 0 while it is in use, or does not run. */
  idleFor(uid: string): number;
  /** How many there are. */
  readonly count: number;
};

type Started<Cluster> = { readonly cluster: Promise<Cluster>; running: Cluster | undefined; openedAt: number };

/** Idle time after which a cluster is stopped. Starting it again takes milliseconds. */
const IDLE_MS = 10 * 60_000;
const IDLE_CHECK_MS = 60_000;

/**
 * The `signal` of a start is aborted when all clusters are stopped permanently. `onStopped` is called after a cluster was stopped, unless it was
 * started again meanwhile.
 */
export function createRunningClusters<Cluster extends Pick<EmbeddedCluster, "idleFor"> & Disposable>(
  start: (uid: string, signal: AbortSignal) => Promise<Cluster>,
  onStopped: (uid: string) => void,
  { clock, scheduler }: Pick<Runtime, "clock" | "scheduler">,
): RunningClusters<Cluster> {
  const started = new Map<string, Started<Cluster>>();
  const lifetime = createSharedAbortController();

  function open(uid: string): Promise<Cluster> {
    const known = started.get(uid);
    if (known !== undefined) {
      known.openedAt = clock.elapsed();
      return known.cluster;
    }
    const starting = start(uid, lifetime.signal);
    const entry: Started<Cluster> = { cluster: starting, running: undefined, openedAt: clock.elapsed() };
    started.set(uid, entry);
    planCheck();
    starting.then(
      (running) => {
        entry.running = running;
      },
      () => {
        if (started.get(uid) === entry) started.delete(uid);
      },
    );
    return starting;
  }

  async function stop(uid: string): Promise<void> {
    const running = started.get(uid);
    if (running === undefined) return;
    started.delete(uid);
    try {
      (await running.cluster)[Symbol.dispose]();
    } catch {
      // The start failed; the caller has the error.
    }
    if (!started.has(uid)) onStopped(uid);
  }

  let nextCheck: Disposable | undefined;
  const planCheck = (): void => {
    nextCheck ??= scheduler.schedule(IDLE_CHECK_MS, () => {
      nextCheck = undefined;
      void stopIdle();
    });
  };

  function idleFor(uid: string): number {
    const known = started.get(uid);
    if (known?.running === undefined) return 0;
    return Math.min(clock.elapsed() - known.openedAt, known.running.idleFor());
  }

  async function stopIdle(): Promise<void> {
    for (const uid of [...started.keys()]) if (idleFor(uid) >= IDLE_MS) await stop(uid);
    if (started.size > 0 && !lifetime.signal.aborted) planCheck();
  }

  return {
    open,
    openNow: (uid) => started.get(uid)?.cluster,
    stop,
    idleFor,
    get count() {
      return started.size;
    },
    [Symbol.dispose]() {
      lifetime.abort();
      nextCheck?.[Symbol.dispose]();
      for (const uid of [...started.keys()]) void stop(uid);
    },
  };
}
