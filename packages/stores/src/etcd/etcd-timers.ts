// The timers of the etcd store, a port so that tests can run them by hand.

export type ScheduleOptions = {
  /** A caller waits for the timer, so that the process must not exit before. Otherwise a timer does not keep the process running. */
  readonly isAwaited?: boolean;
};

/** Runs `task` once after `delayMs`; disposing the handle before that cancels it. */
export type Scheduler = { schedule(delayMs: number, task: () => void, options?: ScheduleOptions): Disposable };

export const systemScheduler: Scheduler = {
  schedule(delayMs, task, { isAwaited = false } = {}) {
    // A busy process may get here too late, and newer Nodes warn about negative delays.
    const timer = setTimeout(task, Math.max(delayMs, 0));
    if (!isAwaited) timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
