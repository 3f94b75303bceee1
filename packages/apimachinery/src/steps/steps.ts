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

/** Ends a step after so much work of the same sort: `if (pace.isOver()) yield;`. */
export class StepPace {
  readonly #perStep: number;
  #done = 0;

  constructor(perStep: number) {
    this.#perStep = perStep;
  }

  /** Whether the step is long enough after this much more. */
  isOver(work = 1): boolean {
    this.#done += work;
    if (this.#done < this.#perStep) return false;
    this.#done = 0;
    return true;
  }
}
