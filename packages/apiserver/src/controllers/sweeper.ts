// A controller that periodically checks all objects and deletes expired ones.

import { inSlices } from "../runtime/in-slices.ts";
import { ignoringConflicts } from "./controlled-objects.ts";
import type { Controller, ControllerPort } from "./controller-port.ts";

export type Sweeping<Item> = {
  /** From the end of one sweep to the next. */
  readonly intervalMs: number;
  /** When the first sweep begins. Default: at once. */
  readonly begin?: Promise<void>;
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

/** Sweeps, and then again and again until it is disposed. */
export function createSweeper<Item>(
  { runtime: { scheduler }, onError }: Pick<ControllerPort, "runtime" | "onError">,
  { intervalMs, begin, items, isOver, remove, nameOf }: Sweeping<Item>,
): Controller {
  const stop = new AbortController();
  const { signal } = stop;
  let timer: Disposable | undefined;

  const removeOne = async (item: Item): Promise<void> => {
    try {
      await ignoringConflicts(() => remove(item, signal));
    } catch (error) {
      if (!signal.aborted) onError(error, nameOf(item));
    }
  };

  /** A sweep that fails is followed by the next one. */
  const sweep = async (): Promise<void> => {
    try {
      await sweepAll();
    } catch (error) {
      if (!signal.aborted) onError(error, "sweep");
    }
  };
  const sweepAll = async (): Promise<void> => {
    if (signal.aborted) return;
    let batch: Item[] = [];
    const removeBatch = async (): Promise<void> => {
      const items = batch;
      batch = [];
      await Promise.all(items.map(removeOne));
    };
    const look = (item: Item): Promise<void> | undefined => {
      if (isOver(item)) batch.push(item);
      return batch.length === BATCH ? removeBatch() : undefined;
    };
    await inSlices(items(), look, signal);
    if (!signal.aborted) await removeBatch();
  };

  let running = begin === undefined ? sweep() : begin.then(sweep);
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
