// Reports errors of callbacks that their owners have dropped: work that had ended, or that tells its client only that another server failed.

import { observeCaught } from "@postern/apimachinery/steps/caught";
import type { Scheduler } from "../runtime/clock.ts";
import { wasLogged } from "./create-logger.ts";
import { type Faults, isDefect } from "./faults.ts";

/** Longer than an owner takes to log an error, with the identifier of its request. */
const GRACE_MS = 5_000;
/** Those that wait at the same time. One cause may make thousands of callbacks fail. */
const MAX_WAITING = 100;

/** Until it is disposed. */
export function reportDroppedErrors(faults: Faults, scheduler: Scheduler): Disposable {
  const waiting = new Set<Disposable>();
  const observing = observeCaught((error) => {
    if (!isDefect(error) || waiting.size >= MAX_WAITING) return;
    const timer = scheduler.schedule(GRACE_MS, () => {
      waiting.delete(timer);
      if (!wasLogged(error)) faults.report(error, { component: "callback" });
    });
    waiting.add(timer);
  });
  return {
    [Symbol.dispose]() {
      observing[Symbol.dispose]();
      for (const timer of waiting) timer[Symbol.dispose]();
    },
  };
}
