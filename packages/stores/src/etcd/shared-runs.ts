// Concurrent callers share one run of a task, such as a read of the newest revision.

/**
 * Each call settles with a run that started after the call, because a run in progress may already have been answered. At most one
 * runs at a time; all calls during it share the next one, and so do calls of one turn of the event loop.
 */
export function sharedRuns<Result>(run: () => Promise<Result>): () => Promise<Result> {
  let current: Promise<Result> | undefined;
  let next: Promise<Result> | undefined;
  const begin = (): Promise<Result> => {
    next = undefined;
    const begun = run();
    current = begun;
    const end = (): void => {
      if (current === begun) current = undefined;
    };
    begun.then(end, end);
    return begun;
  };
  return () => {
    if (next !== undefined) return next;
    const planned = (current === undefined ? endOfTurn() : current.then(endOfTurn, endOfTurn)).then(begin);
    next = planned;
    // Cleared as well if it could not start, or every later call would fail with it.
    planned.catch(() => {
      if (next === planned) next = undefined;
    });
    return planned;
  };
}

/** Requests that arrive together call one after the other in one turn. */
const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
