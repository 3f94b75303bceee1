// The port to other servers on the same store: which are running, and when all of them have seen a write.

export type Replicas = AsyncDisposable & {
  /** Whether the other servers know of this one and wait for it: only then may it admit requests. */
  isFresh(): boolean;
  /** Calls back once when that ends, until disposed; soon where it has ended already. */
  onStale(listener: () => void): Disposable;
  /** Resolves once the others know of this server for the first time. */
  readonly entered: Promise<void>;
  /**
   * Resolves once everything that was written before the call is in force on every server that lets people in: each has said so, has
   * ended, or has been without news for as long as a server may be. Never rejects.
   */
  allKnow(): Promise<void>;
  /** Resolves with the number of servers, this one included. */
  count(): Promise<number>;
};

export type ReplicasDeps = {
  /** Resolves once this server shows everything up to `revision`. */
  readonly waitFor: (revision: number) => Promise<void>;
  /** The newest revision that this server shows; what it is before a `refresh` means nothing. */
  readonly revision: () => number;
  /** Resolves once this server shows everything that had been written when it was called. */
  readonly refresh: () => Promise<unknown>;
  /** In milliseconds: a server that has not seen a write for so long refuses all credentials. */
  readonly boundMs: number;
};
