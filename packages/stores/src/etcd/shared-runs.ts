// Lets callers that come together share one run of a task.

/**
 * Each call resolves with what a run gave that began after the call, and rejects as that run does. At most one is under way; all who call
 * meanwhile share the next.
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
    // A call between the runs may have begun it.
    return current ?? start();
  };
  return () => {
    if (current === undefined) return start();
    next ??= current.then(startNext, startNext);
    return next;
  };
}
