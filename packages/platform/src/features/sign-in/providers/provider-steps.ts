// Bounds each step with an identity provider: its time, and how many of one provider are in progress.

import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { ProviderError } from "./provider-faults.ts";
import type { IdentityProviderState } from "./provider-state.ts";

/** For all requests of one step together, so that a provider that responds byte by byte is given up in time. */
const STEP_MS = 20_000;
/** Steps with one provider at a time: one that does not answer uses up no places of others. */
const MAX_STEPS = 50;

/** Rejects with ProviderError for a step that takes too long, or has no place. */
export type RunStep = <T>(provider: IdentityProviderState, step: () => Promise<T>) => Promise<T>;

export function createProviderSteps(scheduler: Scheduler): RunStep {
  /** Steps in progress, by provider. */
  const running = new Map<string, number>();
  return async ({ name }, step) => {
    const others = running.get(name) ?? 0;
    if (others >= MAX_STEPS) throw new ProviderError(`${MAX_STEPS} requests to it are in progress`);
    running.set(name, others + 1);
    let timer: Disposable | undefined;
    const late = new Promise<never>((_, reject) => {
      const fault = new ProviderError(`it did not answer within ${STEP_MS / 1000} seconds`);
      timer = scheduler.schedule(STEP_MS, () => reject(fault));
    });
    try {
      return await Promise.race([step(), late]);
    } finally {
      timer?.[Symbol.dispose]();
      const left = (running.get(name) ?? 1) - 1;
      if (left > 0) running.set(name, left);
      else running.delete(name);
    }
  };
}
