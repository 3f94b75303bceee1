// Callbacks of events and timers, whose errors no caller could catch: they end the process, or what they belong to waits for ever.

const observers = new Set<(error: unknown) => void>();

/** `observe` is called with each error that a guarded callback throws, before its owner is, until it is disposed. It must not throw. */
export function observeCaught(observe: (error: unknown) => void): Disposable {
  observers.add(observe);
  return { [Symbol.dispose]: () => void observers.delete(observe) };
}

/**
 * The same function, whose errors are given to `fail`, which ends what the function works on. An owner whose work has ended already drops them:
 * `observeCaught` sees those as well.
 */
export const caught =
  <Args extends readonly unknown[]>(
    fail: (error: unknown) => void,
    work: (...args: Args) => unknown,
  ): ((...args: Args) => void) =>
  (...args) => {
    try {
      work(...args);
    } catch (error) {
      for (const observe of observers) observe(error);
      fail(error);
    }
  };

/** Throws an error later, so that it does not stop the work at hand. Nothing catches it then, and the process reports it. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** Resolves when both are done. Never rejects: an error of `work` is thrown later, once, and not again by all that wait behind it. */
export async function bothDone(earlier: Promise<void>, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throwLater(error);
  }
  await earlier;
}

export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
