// Callbacks of events and timers, whose errors no caller could catch: they end the process, or what they belong to waits for ever.

/** The same function, whose errors are given to `fail`, which ends what the function works on. */
export const caught =
  <Args extends readonly unknown[]>(
    fail: (error: unknown) => void,
    work: (...args: Args) => unknown,
  ): ((...args: Args) => void) =>
  (...args) => {
    try {
      work(...args);
    } catch (error) {
      fail(error);
    }
  };

/** Where an error must not stop the work at hand: behind it, nothing catches the error, so that the process reports it. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
