// Records that no resource serves and that expire: their member `until` is in milliseconds since the epoch.

import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createSweeper, type Sweeping } from "@postern/apiserver/controllers/sweeper";
import type { Storage } from "@postern/apiserver/storage/storage";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";

/** The view of the records, and the store that they are written to. */
export type ExpiringRecords = ViewPrefix & { readonly storage: Storage };

const INTERVAL_MS = 60_000;

export type Ending<Item> = Pick<Sweeping<Item>, "begin" | "items" | "remove" | "nameOf"> & {
  /** Milliseconds since the epoch. Takes some microseconds at most. */
  endOf(item: Item): number;
  /** Calls back with items that come or change, until it is disposed. Default: sweeps find them. */
  follow?(onItem: (item: Item) => void): Disposable;
};

/**
 * Removes items when they end, until it is disposed. Those that end before the next sweep have timers, which no clock that is set delays: what has ended is
 * gone from the store before a restart asks a clock that may be behind (ADR 171).
 */
export function createEndSweeper<Item>(
  port: Pick<ControllerPort, "runtime" | "onError">,
  { endOf, follow, ...ending }: Ending<Item>,
): Controller {
  const { remove, nameOf } = ending;
  const { clock, scheduler } = port.runtime;
  const stop = new AbortController();
  const planned = new Map<string, Disposable>();
  const plan = (item: Item, left: number): void => {
    const name = nameOf(item);
    planned.get(name)?.[Symbol.dispose]();
    const end = (): void => {
      planned.delete(name);
      Promise.resolve(remove(item, stop.signal)).catch((error: unknown) => {
        if (!stop.signal.aborted) port.onError(error, name);
      });
    };
    planned.set(name, scheduler.schedule(left, end));
  };
  const isOver = (item: Item, restMs: number): boolean => {
    const left = endOf(item) - clock.now();
    if (left > 0 && left <= restMs) plan(item, left);
    return left <= 0;
  };
  const sweeper = createSweeper<Item>(port, { ...ending, intervalMs: INTERVAL_MS, isOver });
  const following = follow?.((item) => void isOver(item, sweeper.restMs));
  return {
    idle: () => sweeper.idle(),
    [Symbol.dispose]() {
      stop.abort();
      following?.[Symbol.dispose]();
      sweeper[Symbol.dispose]();
      for (const timer of planned.values()) timer[Symbol.dispose]();
    },
  };
}

/** Deletes expired records, until it is disposed, each after `beforeDelete`. A rejection leaves the record to the next sweep. */
export const createRecordReaper = (
  port: Pick<ControllerPort, "runtime" | "onError">,
  { view, prefix, storage }: ExpiringRecords,
  beforeDelete?: (record: CachedObject) => Promise<void>,
): Controller =>
  createEndSweeper(port, {
    items: () => view.list(prefix),
    follow: (onItem) => followView({ view, prefix }, port.runtime.scheduler, { put: onItem }),
    endOf: (record) => Number(record.decode()["until"] ?? 0),
    async remove(record) {
      const { key, revision } = record;
      await beforeDelete?.(record);
      await unlessConflict(storage.delete(key, revision));
    },
    nameOf: ({ key }) => key.slice(prefix.length),
  });
