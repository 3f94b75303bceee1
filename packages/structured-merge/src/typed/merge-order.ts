// The order of the items when one associative list is merged into another.
// Source: sigs.k8s.io/structured-merge-diff/typed/merge.go (visitListItems)

import type { PathElement } from "../fieldpath/path-element.ts";

/** `liveIndex` is set for an item that only the live list has: its place there. */
type MergedItem = { readonly element: PathElement; readonly liveIndex?: number };

/**
 * Applied items keep their order among themselves. An item that only the live list has stays in front of the same shared
 * item as before.
 */
export function mergeOrder(live: readonly PathElement[], applied: readonly PathElement[]): MergedItem[] {
  const inLive = new Set(live);
  const inApplied = new Set(applied);
  const shared = applied.filter((element) => inLive.has(element));
  const taken = new Set<PathElement>();
  const order: MergedItem[] = [];
  let nextShared = 0;
  let l = 0;
  let a = 0;

  const takeApplied = (element: PathElement): void => {
    order.push({ element });
    taken.add(element);
    a++;
  };

  while (l < live.length || a < applied.length) {
    const liveElement = live[l];
    const appliedElement = applied[a];
    if (liveElement !== undefined && appliedElement !== undefined) {
      if (liveElement === appliedElement) {
        takeApplied(appliedElement);
        l++;
        nextShared++;
        continue;
      }
      const awaited = shared[nextShared];
      if (inApplied.has(liveElement) && awaited !== undefined && awaited !== liveElement) {
        l++;
        continue;
      }
    }
    if (liveElement !== undefined) {
      if (!inApplied.has(liveElement)) {
        order.push({ element: liveElement, liveIndex: l });
        l++;
        continue;
      }
      if (taken.has(liveElement)) l++;
    }
    if (appliedElement !== undefined) {
      takeApplied(appliedElement);
      if (shared[nextShared] === appliedElement) nextShared++;
    }
  }
  return order;
}
