// A controller that looks through all there is from time to time, and deletes what is over.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Controller, ControllerPort } from "./controller-port.ts";
import { passingOverRaces } from "./update-controlled.ts";

export type Sweeping<Item> = {
  /** From the end of one sweep to the next. */
  readonly intervalMs: number;
  /** Items may come and go while it is gone through. */
  items(): Iterable<Item>;
  /** Takes some microseconds at most. */
  isOver(item: Item): boolean;
  /** Rejects with ApiErrors; another writer may have been faster. */
  remove(item: Item, signal: AbortSignal): Promise<unknown>;
  nameOf(item: Item): string;
};

/** So many deletions at once go into one commit of the store. */
const BATCH = 64;
/** So many items are looked at before requests get their turn. */
const SLICE = 1_000;

/** Sweeps at once, and then again and again until it is disposed. */
export function createSweeper<Item>(
  { runtime: { scheduler }, onError }: Pick<ControllerPort, "runtime" | "onError">,
  { intervalMs, items, isOver, remove, nameOf }: Sweeping<Item>,
): Controller {
  const stop = new AbortController();
  const { signal } = stop;
  let timer: Disposable | undefined;

  const removeOne = async (item: Item): Promise<void> => {
    try {
      await passingOverRaces(() => remove(item, signal));
    } catch (error) {
      if (!signal.aborted) onError(error, nameOf(item));
    }
  };

  const sweep = async (): Promise<void> => {
    let batch: Item[] = [];
    let looked = 0;
    for (const item of items()) {
      if (signal.aborted) return;
      if (isOver(item)) batch.push(item);
      if (batch.length === BATCH) {
        await Promise.all(batch.map(removeOne));
        batch = [];
      } else if (++looked % SLICE === 0) {
        await nextTurn();
      }
    }
    await Promise.all(batch.map(removeOne));
  };

  let running = sweep();
  const schedule = (): void => {
    if (signal.aborted) return;
    timer = scheduler.schedule(intervalMs, () => {
      running = sweep();
      void running.then(schedule);
    });
  };
  void running.then(schedule);

  return {
    idle: () => running,
    [Symbol.dispose]() {
      stop.abort();
      timer?.[Symbol.dispose]();
    },
  };
}
