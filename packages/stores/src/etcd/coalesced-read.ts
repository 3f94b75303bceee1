// Many who ask for the same at the same time get one answer, none of them one that was read before they asked.

/** While one read runs, everybody else waits for the next one together: a running one may already have been answered. */
export function createCoalescedRead<Result>(read: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> | undefined;
  let next: Promise<Result> | undefined;
  const begin = () => {
    next = undefined;
    const reading = read();
    const settled = reading.then(
      () => {},
      () => {},
    );
    running = settled;
    void settled.then(() => {
      if (running === settled) running = undefined;
    });
    return reading;
  };
  return () => {
    if (running === undefined) return begin();
    next ??= running.then(begin);
    return next;
  };
}
