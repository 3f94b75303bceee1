// A controller that periodically checks all objects and deletes expired ones.

import { inSlices } from "../runtime/in-slices.ts";
import { createSharedAbortController } from "../storage/shared-abort-controller.ts";
import { ignoringConflicts } from "./controlled-objects.ts";
import type { Controller, ControllerPort } from "./controller-port.ts";

export type Sweeping<Item> = {
  /** From the end of one sweep to the next; longer where there are very many items. */
  readonly intervalMs: number;
  /** When the first sweep begins. Default: at once. */
  readonly begin?: Promise<void>;
  /** Items may come and go while it is gone through. */
  items(): Iterable<Item>;
  /** Takes some microseconds at most. The item is looked at again about `restMs` later. */
  isOver(item: Item, restMs: number): boolean;
  /** Rejects with ApiErrors; another writer may have been faster. */
  remove(item: Item, signal: AbortSignal): Promise<unknown>;
  nameOf(item: Item): string;
};

export type Sweeper = Controller & {
  /** From the last sweep to the next. */
  readonly restMs: number;
};

/** Deletions at once, which go into one commit of the store. */
const BATCH = 64;
/** The rest for each item that was looked at, some fifty times what the look takes: a million items are a small part of a core. */
const REST_FOR_EACH_MS = 0.1;
const LONGEST_REST_MS = 5 * 60_000;

/** Sweeps, and then again and again until it is disposed. */
export function createSweeper<Item>(
  { runtime: { scheduler }, onError }: Pick<ControllerPort, "runtime" | "onError">,
  { intervalMs, begin, items, isOver, remove, nameOf }: Sweeping<Item>,
): Sweeper {
  const stop = createSharedAbortController();
  const { signal } = stop;
  let timer: Disposable | undefined;
  let restMs = intervalMs;

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
    let count = 0;
    let batch: Item[] = [];
    const removeBatch = async (): Promise<void> => {
      const items = batch;
      batch = [];
      await Promise.all(items.map(removeOne));
    };
    const look = (item: Item): Promise<void> | undefined => {
      count++;
      if (isOver(item, restMs)) batch.push(item);
      return batch.length === BATCH ? removeBatch() : undefined;
    };
    await inSlices(items(), look, signal);
    if (!signal.aborted) await removeBatch();
    restMs = Math.max(intervalMs, Math.min(REST_FOR_EACH_MS * count, LONGEST_REST_MS));
  };

  let running = begin === undefined ? sweep() : begin.then(sweep);
  const schedule = (): void => {
    if (signal.aborted) return;
    timer = scheduler.schedule(restMs, () => {
      running = sweep();
      void running.then(schedule);
    });
  };
  void running.then(schedule);

  return {
    idle: () => running,
    get restMs() {
      return restMs;
    },
    [Symbol.dispose]() {
      stop.abort();
      timer?.[Symbol.dispose]();
    },
  };
}
