// Bounds the requests that are in progress to one target.

import { busyError } from "./upstream-failure.ts";

export type SlotLimits = {
  /** Requests under way at one time, upgraded ones included; each has a connection of its own. */
  readonly maxConnections: number;
  readonly maxUpgrades: number;
};

type RequestSlots = {
  /** How many are taken. */
  readonly active: number;
  /** Throws ApiError 503 where all are taken. The result gives the slot back, once. */
  take(upgrade: boolean): () => void;
};

/** `onRelease` is called after each slot that is given back. */
export function createRequestSlots({ maxConnections, maxUpgrades }: SlotLimits, onRelease: () => void): RequestSlots {
  let active = 0;
  let upgrades = 0;
  return {
    get active() {
      return active;
    },
    take(upgrade) {
      if (active >= maxConnections || (upgrade && upgrades >= maxUpgrades)) throw busyError();
      active += 1;
      if (upgrade) upgrades += 1;
      let taken = true;
      return () => {
        if (!taken) return;
        taken = false;
        active -= 1;
        if (upgrade) upgrades -= 1;
        onRelease();
      };
    },
  };
}
