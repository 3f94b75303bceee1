// The timers of the etcd store, a port so that tests can run them by hand.

export type ScheduleOptions = {
  /** A caller waits for this: the process does not exit before. Without it a timer alone keeps no process. */
  readonly isAwaited?: boolean;
};

/** Runs `task` once after `delayMs`; disposing the handle before that cancels it. */
export type Scheduler = { schedule(delayMs: number, task: () => void, options?: ScheduleOptions): Disposable };

export const systemScheduler: Scheduler = {
  schedule(delayMs, task, { isAwaited = false } = {}) {
    // A busy process comes to it after its moment, and newer Nodes warn of a negative delay.
    const timer = setTimeout(task, Math.max(delayMs, 0));
    if (!isAwaited) timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
