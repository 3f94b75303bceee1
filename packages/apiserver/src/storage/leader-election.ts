// The port for leader election between servers that share a store.

/** Held from the moment it is won until it is resigned or lost. */
export type Leadership = AsyncDisposable & {
  /**
   * Aborted as soon as another server may have become leader, at the latest when the lease can have expired: work under this leadership stops then.
   * Disposing resigns, which aborts it too and lets the next candidate in at once.
   */
  readonly signal: AbortSignal;
  /**
   * False from then on. A process that was stopped, and runs what was due meanwhile, finds out here before the timer that would abort
   * the signal has had its turn; it is aborted then.
   */
  isHeld(): boolean;
};

export interface LeaderElection {
  /**
   * Waits, through failures of the store, until this server is the leader of `name`; rejects with the reason of `signal`.
   * `identity` is what others see as the leader.
   */
  campaign(name: string, identity: string, signal: AbortSignal): Promise<Leadership>;

  /** The identity of the present leader; undefined without one. Rejects with StorageUnavailableError. */
  leader(name: string): Promise<string | undefined>;
}

/** For a server that leaves such work to others: it sees who leads, and never does. */
export const neverLeading = ({ leader }: Pick<LeaderElection, "leader">): LeaderElection => ({
  campaign: (_name, _identity, signal) =>
    new Promise((_resolve, reject) => {
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) stop();
      else signal.addEventListener("abort", stop, { once: true });
    }),
  leader,
});

/** For a store that one process owns: every candidate is the leader. */
export function createSoleLeaderElection(): LeaderElection {
  const leaders = new Map<string, string>();
  return {
    async campaign(name, identity, signal) {
      signal.throwIfAborted();
      const ending = new AbortController();
      leaders.set(name, identity);
      return {
        signal: ending.signal,
        isHeld: () => !ending.signal.aborted,
        async [Symbol.asyncDispose]() {
          leaders.delete(name);
          ending.abort();
        },
      };
    },
    async leader(name) {
      return leaders.get(name);
    },
  };
}
