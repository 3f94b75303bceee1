import type { Steps } from "@postern/apimachinery/steps/steps";
import { expect, it } from "vitest";
import { contextOf } from "./controller-port.ts";

it("long work of controllers lets other work run after a few steps", async () => {
  let now = 0;
  const clock = { now: () => now, elapsed: () => now };
  let turn = 0;
  const stepsIn: number[] = [];
  function* steps(): Steps<string> {
    for (let step = 0; step < 40; step++) {
      stepsIn[turn] = (stepsIn[turn] ?? 0) + 1;
      now++;
      yield;
    }
    return "done";
  }
  let counting = setImmediate(function count() {
    turn++;
    counting = setImmediate(count);
  });
  const definition = { group: "", version: "v1", plural: "pods" } as any;
  const call = { verb: "create", resource: { definition } as any, namespace: "", name: "" } as const;
  const context = contextOf({ runtime: { clock } as any }, call, new AbortController().signal);
  expect(await context.inParts(steps())).toBe("done");
  clearImmediate(counting);
  expect(Math.max(...stepsIn.filter((count) => count !== undefined))).toBeLessThanOrEqual(5);
});
