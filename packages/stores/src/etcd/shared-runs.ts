// Concurrent callers share one run of a task, such as a read of the newest revision.

/**
 * Each call settles with a run that started after the call, because a run in progress may already have been answered. At most one
 * runs at a time; all calls during it share the next one.
 */
export function sharedRuns<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;
  const start = (): Promise<Result> => {
    const begun = run();
    current = begun;
    const end = (): void => {
      if (current === begun) current = undefined;
    };
    begun.then(end, end);
    return begun;
  };
  const startNext = (): Promise<Result> => {
    next = undefined;
    // A call between the runs may have started it.
    return current ?? start();
  };
  return () => {
    if (current === undefined) return start();
    next ??= current.then(startNext, startNext);
    return next;
  };
}
