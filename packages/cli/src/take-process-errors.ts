// Takes the errors of a process that nothing else has caught, so that one of them does not end the server for everybody.

import type { EventEmitter } from "node:events";

/** Reported as the server reports its others. */
type ErrorReport = { report(error: unknown, source: { readonly component: string }): void };

/** Until it is disposed. */
export function takeProcessErrors(source: EventEmitter, faults: ErrorReport): Disposable {
  const onException = (error: unknown): void => faults.report(error, { component: "uncaught-exception" });
  const onRejection = (error: unknown): void => faults.report(error, { component: "unhandled-rejection" });
  source.on("uncaughtException", onException).on("unhandledRejection", onRejection);
  return {
    [Symbol.dispose]() {
      source.off("uncaughtException", onException).off("unhandledRejection", onRejection);
    },
  };
}
