// Coalesces concurrent reads. No caller gets the result of a read that started before its call.

/** Calls during a read share the next one, because the running one may already have been answered. */
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
