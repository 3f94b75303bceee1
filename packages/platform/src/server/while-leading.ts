// Runs what must run once among all servers on a store: on the leader, for as long as it leads.

import type { LeaderElection } from "@postern/apiserver/storage/leader-election";

export type WhileLeadingOptions = {
  readonly election: LeaderElection;
  /** What is led. */
  readonly name: string;
  /** Who this server is to the others. */
  readonly identity: string;
  /** Called each time this server becomes the leader; what it gives is disposed when it no longer is. */
  readonly start: () => readonly Disposable[];
};

/** Campaigns until it is disposed. */
export function whileLeading({ election, name, identity, start }: WhileLeadingOptions): AsyncDisposable {
  const stopping = new AbortController();

  async function lead(): Promise<void> {
    while (!stopping.signal.aborted) {
      await using leadership = await election.campaign(name, identity, stopping.signal);
      const running = start();
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

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
