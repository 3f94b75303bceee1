// Whether a recorded history is one of registers with compare-and-swap whose revisions only grow.

import { expect } from "vitest";
import { checkLinearizable, type Operation } from "./linearizability.ts";
import type { History } from "./record-history.ts";

/** `atLeast` so many operations must have worked for the history to say anything. */
export function expectLinearizable({ byKey, writes, counts }: History, atLeast: number): void {
  expect(counts.done).toBeGreaterThan(atLeast);
  for (const [key, operations] of byKey) {
    const verdict = checkLinearizable(operations);
    if (!verdict.linearizable) expect.fail(`${key}: no order explains ${around(operations, verdict.stuckAt)}`);
  }
  // Revisions are one sequence for all keys: what began after another write had ended has a greater one.
  let highest = 0;
  const byReturn = writes.toSorted((a, b) => a.return - b.return);
  let ended = 0;
  for (const { call, revision } of writes.toSorted((a, b) => a.call - b.call)) {
    for (; byReturn[ended] !== undefined && byReturn[ended]!.return < call; ended++) {
      highest = Math.max(highest, byReturn[ended]!.revision);
    }
    expect(revision).toBeGreaterThan(highest);
  }
  expect(new Set(writes.map(({ revision }) => revision)).size).toBe(writes.length);
}

/** The operation that the checker could not place, behind those that were under way or had just ended. */
function around(operations: readonly Operation[], stuckAt: Operation): string {
  const endOf = ({ output }: Operation): number =>
    output.type === "unknown" ? Number.POSITIVE_INFINITY : output.return;
  const near = operations.filter((other) => other.call < endOf(stuckAt) && endOf(other) > stuckAt.call - NEAR);
  return [...near, stuckAt].map((operation) => JSON.stringify(operation)).join("\n");
}

const NEAR = 100;
