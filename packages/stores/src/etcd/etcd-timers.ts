// The timers of the etcd store, a port so that tests can run them by hand.

/** Runs `task` once after `delayMs`; disposing the handle before that cancels it. */
export type Scheduler = { schedule(delayMs: number, task: () => void): Disposable };

export const systemScheduler: Scheduler = {
  schedule(delayMs, task) {
    const timer = setTimeout(task, delayMs);
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
