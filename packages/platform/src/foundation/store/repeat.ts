// Repeats work at an interval until disposed; runs never overlap.

import type { Scheduler } from "@postern/apiserver/runtime/clock";

export function repeat(deps: {
  readonly scheduler: Scheduler;
  readonly everyMs: number;
  readonly work: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}): Disposable {
  const { scheduler, everyMs, work, onError } = deps;
  let over = false;
  let timer: Disposable | undefined;
  const plan = (): void => {
    if (over) return;
    timer = scheduler.schedule(everyMs, () => void work().catch(onError).finally(plan));
  };
  plan();
  return {
    [Symbol.dispose]() {
      over = true;
      timer?.[Symbol.dispose]();
    },
  };
}
