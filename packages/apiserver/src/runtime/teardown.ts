// Disposes resources in reverse order. Node 20 has no AsyncDisposableStack yet.

export type Teardown = {
  /** Disposes `resource` when its turn comes, and gives it back. */
  use<T extends Disposable | AsyncDisposable>(resource: T): T;
  defer(step: () => void | Promise<void>): void;
  /** Runs every step, also behind one that fails; rejects with the first failure. Further calls wait for the first. */
  run(): Promise<void>;
};

export function createTeardown(): Teardown {
  const steps: (() => void | PromiseLike<void>)[] = [];
  let running: Promise<void> | undefined;

  async function runAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      try {
        await step();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  return {
    use(resource) {
      steps.push(() =>
        Symbol.asyncDispose in resource ? resource[Symbol.asyncDispose]() : resource[Symbol.dispose](),
      );
      return resource;
    },
    defer: (step) => void steps.push(step),
    run: () => {
      running ??= runAll();
      return running;
    },
  };
}
