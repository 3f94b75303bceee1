// Work in steps: the caller may run other work in between.

/** Yields after each step, and returns what the work was for. A step takes linear time, and should be one walk over a value. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** All steps, one right after the other. */
export function runSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

export function* oneStep<T>(step: () => T): Steps<T> {
  const result = step();
  yield;
  return result;
}
