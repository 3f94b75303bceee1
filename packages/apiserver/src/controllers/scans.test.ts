import { expect, it } from "vitest";
import { createScans } from "./scans.ts";

it("is idle when every scan is", async () => {
  const scans = createScans();
  let finishFirst = (): void => undefined;
  const done: string[] = [];
  scans.add(new Promise<void>((resolve) => (finishFirst = resolve)).then(() => void done.push("first")));
  scans.add(Promise.resolve().then(() => void done.push("second")));
  const idle = scans.idle().then(() => done.push("idle"));
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual(["second"]);
  finishFirst();
  await idle;
  expect(done).toEqual(["second", "first", "idle"]);
});

it("aborts its scans when disposed", () => {
  const scans = createScans();
  expect(scans.signal.aborted).toBe(false);
  scans[Symbol.dispose]();
  expect(scans.signal.aborted).toBe(true);
});
