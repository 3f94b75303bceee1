// Ports for clock, randomness and timers, so that a whole server can run in a seeded simulation.

/** Two clocks: the time of day, and one for durations. */
export type Clock = {
  /** The time of day, in milliseconds since the Unix epoch. Administrators and time servers set it, forwards and backwards. */
  now(): number;
  /** Milliseconds that have passed since some moment: never goes back, and is never set. Durations are measured by it. */
  elapsed(): number;
};

/** Cryptographically strong bytes in production, seeded ones in a simulation. */
export type Random = {
  bytes(length: number): Uint8Array;
  /** A UUID of version 4. Absent: it is made of `bytes`. */
  uuid?(): string;
};

/** Runs `task` once after `delayMs`; disposing the handle before that cancels it. A server reports its errors, and those of a promise that it returns. */
export type Scheduler = { schedule(delayMs: number, task: () => void): Disposable };

/** Everything of the outside that is not input: clock, randomness and timers. A test passes its own to control them. */
export type Runtime = { readonly clock: Clock; readonly random: Random; readonly scheduler: Scheduler };
