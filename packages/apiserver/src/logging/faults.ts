// Receives errors of streams, timers, events and callbacks that no handler catches: each is logged once and counted, and the process continues.

import type { Runtime, Scheduler } from "../runtime/clock.ts";
import type { LogFields, Logger } from "./logger.ts";

/** The part of the server that failed, and the request that it worked for. */
export type FaultSource = { readonly component: string } & Pick<LogFields, "auditId" | "method" | "uri">;

export type Faults = {
  /** Never throws. */
  report(error: unknown, source: FaultSource): void;
};

/** Whether it is an error of the language, and none that code throws on purpose, such as a refusal, an abort or the end of a connection. */
export const isDefect = (error: unknown): error is Error =>
  error instanceof TypeError ||
  error instanceof RangeError ||
  error instanceof ReferenceError ||
  error instanceof SyntaxError;

export function createFaults(deps: {
  readonly logger: Logger;
  /** Counts a fault. */
  readonly onFault?: ((component: string) => void) | undefined;
}): Faults {
  const { logger, onFault } = deps;
  return {
    report(error, source) {
      try {
        onFault?.(source.component);
        logger.error({ error, ...source }, "unexpected error");
      } catch {
        // A log that cannot be written must not end the process either.
      }
    },
  };
}

/** The same function, whose errors are reported. `onFault` ends what it worked on; so do rejections, of asynchronous functions. */
export function guarded<Args extends readonly unknown[]>(
  faults: Faults,
  component: string,
  work: (...args: Args) => unknown,
  onFault: (...args: Args) => void = () => undefined,
): (...args: Args) => void {
  const fail = (error: unknown, args: Args): void => {
    faults.report(error, { component });
    try {
      onFault(...args);
    } catch (second) {
      faults.report(second, { component });
    }
  };
  return (...args) => {
    try {
      const result = work(...args);
      if (result instanceof Promise) result.catch((error: unknown) => fail(error, args));
    } catch (error) {
      fail(error, args);
    }
  };
}

/** The same runtime, with timers whose errors are reported. */
export const withGuardedTimers = (runtime: Runtime, faults: Faults): Runtime => ({
  ...runtime,
  scheduler: guardedScheduler(runtime.scheduler, faults),
});

const guardedScheduler = (scheduler: Scheduler, faults: Faults): Scheduler => ({
  schedule: (delayMs, task) => scheduler.schedule(delayMs, guarded(faults, "timer", task)),
});
