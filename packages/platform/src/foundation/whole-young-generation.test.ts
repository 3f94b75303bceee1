import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { withWholeYoungGeneration } from "./whole-young-generation.ts";

it("gives threads the whole young generation from their start on, and no other thread", async () => {
  const script = `
    const { getHeapSpaceStatistics } = require("node:v8");
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space");
    require("node:worker_threads").parentPort.postMessage(young.space_used_size + young.space_available_size);
  `;
  const flags: string[] = [];
  const plain = () => new Worker(script, { eval: true, resourceLimits: { maxYoungGenerationSizeMb: 48 } });
  const start = withWholeYoungGeneration(plain, (flag) => {
    flags.push(flag);
    setFlagsFromString(flag);
  });
  const sizeIn = (worker: Worker) => new Promise<number>((resolve) => worker.once("message", resolve));
  const sizes = await Promise.all([start(undefined), start(undefined)].map(sizeIn));
  expect(Math.min(...sizes)).toBeGreaterThan(12 << 20);
  expect(flags.at(-1)).toBe("--min-semi-space-size=0");
  expect(await sizeIn(plain())).toBeLessThan(4 << 20);
});
