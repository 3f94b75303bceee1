import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { createSharedAbortController } from "./shared-abort-controller.ts";

it("has more than ten listeners without a warning of a leak", async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): void => void warnings.push(name);
  process.on("warning", onWarning);
  const { signal } = createSharedAbortController();
  for (let count = 0; count < 50; count++) signal.addEventListener("abort", () => {});
  await setImmediate();
  process.off("warning", onWarning);
  expect(warnings).toEqual([]);
});
