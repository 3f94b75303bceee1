// Repeats work at an interval until disposed; runs never overlap.

import type { Scheduler } from "@postern/apiserver/runtime/clock";

type RepeatOptions = {
  readonly scheduler: Scheduler;
  readonly everyMs: number;
  readonly work: () => Promise<void>;
  readonly onError: (error: unknown) => void;
};

export function repeat({ scheduler, everyMs, work, onError }: RepeatOptions): Disposable {
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
