import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { NodeZones, TAINT_EVERY_MS } from "./node-zones.ts";

it("looks at the first Node that waits again when its zone may taint more often", () => {
  const { clock, advance } = manualTime(0);
  const changed: string[] = [];
  const zones = new NodeZones(clock, (key) => changed.push(key));
  const setReady = (from: number, to: number, isReady: boolean) => {
    for (let at = from; at < to; at++) zones.set(`n${at}`, { labels: {}, isReady, isTainted: false });
  };
  setReady(0, 60, true);
  zones.start();
  setReady(0, 59, false);
  advance(10 * TAINT_EVERY_MS);
  expect(zones.delayMs("n0")).toBe(0);
  zones.take("n0");
  expect(zones.delayMs("n1")).toBe(10 * TAINT_EVERY_MS);
  changed.length = 0;
  setReady(10, 59, true);
  expect([changed, zones.delayMs("n1")]).toEqual([["n1"], TAINT_EVERY_MS]);
});
