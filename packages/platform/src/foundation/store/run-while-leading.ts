// Runs work that must run once among all servers on a store: on the leader, while it leads.

import type { Runtime, Scheduler } from "@postern/apiserver/runtime/clock";
import type { LeaderElection, Leadership } from "@postern/apiserver/storage/leader-election";

/** Led by one server for as long as any runs. */
export const CONTROLLERS = "controllers";

/** Campaigns until it is disposed. */
export function runWhileLeading(deps: {
  readonly election: LeaderElection;
  /** Name of the work that is led. */
  readonly name: string;
  /** Name of this server among the others. */
  readonly identity: string;
  readonly runtime: Runtime;
  /**
   * Called each time this server becomes the leader; the result is disposed when it no longer is. The runtime is for work under this leadership: it
   * runs no timer after its end.
   */
  readonly start: (runtime: Runtime) => readonly Disposable[];
}): AsyncDisposable {
  const { election, name, identity, runtime, start } = deps;
  const stopping = new AbortController();

  async function lead(): Promise<void> {
    while (!stopping.signal.aborted) {
      await using leadership = await election.campaign(name, identity, stopping.signal);
      const running = start({ ...runtime, scheduler: whileHeld(runtime.scheduler, leadership) });
      await aborted(AbortSignal.any([leadership.signal, stopping.signal]));
      for (const one of running) one[Symbol.dispose]();
    }
  }

  const ended = lead().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await ended;
    },
  };
}

/** If two timers are due, the one that ends the leadership may run second: no other timer runs before it then. */
const whileHeld = (scheduler: Scheduler, leadership: Leadership): Scheduler => ({
  schedule: (delayMs, task) =>
    scheduler.schedule(delayMs, () => {
      if (leadership.isHeld()) task();
    }),
});

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
