// The current time for relative times. It advances every 30 seconds, for all components at once.

import { useSyncExternalStore } from "react";

const STEP_MS = 30_000;

function createTicker() {
  let now = Date.now();
  let timer: ReturnType<typeof setInterval> | undefined;
  const listeners = new Set<() => void>();
  return {
    now: () => now,
    subscribe(listener: () => void) {
      if (listeners.size === 0) now = Date.now();
      listeners.add(listener);
      timer ??= setInterval(() => {
        now = Date.now();
        for (const each of listeners) each();
      }, STEP_MS);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}

const ticker = createTicker();

/** In milliseconds. */
export const useNow = (): number => useSyncExternalStore(ticker.subscribe, ticker.now);
