// The work of an apply of a long list, counted as reads of the keys of its items.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { expect, it } from "vitest";
import { createFieldManager } from "./field-manager.ts";

const schema = {
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { type: "object" },
    items: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: { type: "object", properties: { name: { type: "string" }, value: { type: "string" } } },
    },
  },
} as any;

let reads = 0;
const objectOf = (count: number, offset = 0, value = "v"): KubeObject =>
  ({
    apiVersion: "a.b/v1",
    kind: "K",
    metadata: { name: "x" },
    items: Array.from({ length: count }, (_, at) => ({
      get name() {
        reads++;
        return `n-${(at * 7_919 + offset) % (2 * count)}`;
      },
      value,
    })),
  }) as unknown as KubeObject;

const NOW = "2020-01-01T00:00:00Z";
const options = { schema, groupVersion: { group: "a.b", version: "v1" } };

it.each<[string, (count: number) => void]>([
  ["that is new", (count) => void apply(objectOf(count))],
  ["with other items than before", (count) => void apply(objectOf(count, 1), apply(objectOf(count)))],
  ["in another order", (count) => void apply(objectOf(count, 31), apply(objectOf(count)))],
  [
    "that another manager owns, by force",
    (count) => void apply(objectOf(count, 0, "w"), apply(objectOf(count)), "b", true),
  ],
  ["that is empty, after a long one", (count) => void apply(objectOf(0), apply(objectOf(count)))],
  [
    "by an update",
    (count) => {
      const live = apply(objectOf(count));
      createFieldManager(options).update({ live, next: objectOf(count, 1), manager: "u", now: NOW } as any);
    },
  ],
])("an apply of a list %s reads twice as much of twice as many items", (_what, run) => {
  const readsOf = (count: number): number => {
    reads = 0;
    run(count);
    return reads;
  };
  const few = readsOf(500);
  expect(few).toBeGreaterThan(0);
  expect(readsOf(1_000)).toBeLessThanOrEqual(2.1 * few);
});

it("is made in steps, each of which walks over the object once", () => {
  const live = apply(objectOf(500));
  const steps = createFieldManager(options).applyInSteps({
    live,
    applied: objectOf(500, 1),
    manager: "a",
    now: NOW,
  } as any);
  const perStep: number[] = [];
  for (let done: boolean | undefined = false; done !== true; ) {
    reads = 0;
    done = steps.next().done;
    perStep.push(reads);
  }
  // Both sides, compared with each other, with a look at each key for its element and one for its value.
  expect(Math.max(...perStep)).toBeLessThanOrEqual(6 * 500);
});

function apply(applied: KubeObject, live?: KubeObject, manager = "a", force = false): KubeObject {
  return createFieldManager(options).apply({ live, applied, manager, force, now: NOW } as any);
}
