// Takes the uncaught errors of a process: one does not end the server for all its clients, but a process in which they keep occurring is ended.

import type { EventEmitter } from "node:events";

/** Reported as the server reports its others. */
type ErrorReport = { report(error: unknown, source: { readonly component: string }): void };

export type ProcessErrorOptions = {
  /** The process, or an emitter in tests. */
  readonly source: EventEmitter;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Called once, when errors keep occurring. */
  readonly onRepeated: () => void;
};

const SECOND_MS = 1_000;
const WINDOW_SECONDS = 60;
/** One cause may reject hundreds of promises at once, so that seconds are counted, and not errors. */
const SECONDS_WITH_ERRORS = 10;

/** Until it is disposed. */
export function takeProcessErrors({ source, now, onRepeated }: ProcessErrorOptions, faults: ErrorReport): Disposable {
  /** Seconds of the last minute in which there was an error. */
  let seconds: readonly number[] = [];
  let isGivenUp = false;
  const take = (error: unknown, component: string): void => {
    faults.report(error, { component });
    const second = Math.floor(now() / SECOND_MS);
    if (isGivenUp || seconds.includes(second)) return;
    seconds = [...seconds.filter((earlier) => earlier > second - WINDOW_SECONDS), second];
    if (seconds.length < SECONDS_WITH_ERRORS) return;
    isGivenUp = true;
    onRepeated();
  };
  const onException = (error: unknown): void => take(error, "uncaught-exception");
  const onRejection = (error: unknown): void => take(error, "unhandled-rejection");
  source.on("uncaughtException", onException).on("unhandledRejection", onRejection);
  return {
    [Symbol.dispose]() {
      source.off("uncaughtException", onException).off("unhandledRejection", onRejection);
    },
  };
}
