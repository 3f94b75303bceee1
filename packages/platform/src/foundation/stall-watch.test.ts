import { expect, it } from "vitest";
import { BEAT_MS, StallWatch } from "./stall-watch.ts";

type Second = { readonly beats: number; readonly processorMs: number; readonly isRunnable: boolean };

/** How many seconds pass until it is ended, up to 600; `undefined`: it is not. */
function secondsUntilStalled(
  work: (second: number) => Second | undefined,
  beatsAt = (second: number) => work(second)?.beats ?? 1,
) {
  let elapsed = 0;
  const second = () => Math.floor(elapsed / 1_000);
  const readings = {
    get beats() {
      return beatsAt(second());
    },
    threadId: 1,
  };
  const limits = { stallMs: 2_000, processorMs: 1_000 };
  const watch = new StallWatch({ readings, limits, clock: { elapsed: () => elapsed }, read: () => work(second()) });
  for (; elapsed <= 600_000; elapsed += BEAT_MS) if (watch.isStalled()) return elapsed / 1_000;
  return undefined;
}

it.each<[string, number | undefined, (second: number) => Second]>([
  ["loops", 2, (second) => ({ beats: 1, processorMs: 900 * second, isRunnable: true })],
  ["loops on a twentieth of a processor", 20, (second) => ({ beats: 1, processorMs: 50 * second, isRunnable: true })],
  [
    "waits for a processor, and goes on",
    undefined,
    (second) => ({ beats: 1 + Math.floor(second / 30), processorMs: 10 * second, isRunnable: true }),
  ],
  ["waits in a system call that does not return", 10, () => ({ beats: 1, processorMs: 5, isRunnable: false })],
  [
    "waits for a processor, and for threads that collect garbage with it",
    undefined,
    (second) => ({ beats: 1 + Math.floor(second / 15), processorMs: 50 * second, isRunnable: second % 3 !== 0 }),
  ],
  ["beats", undefined, (second) => ({ beats: second, processorMs: 900 * second, isRunnable: true })],
  ["does not start", 180, () => ({ beats: 0, processorMs: 0, isRunnable: false })],
  ["loops while it starts", 200, (second) => ({ beats: 0, processorMs: 900 * second, isRunnable: true })],
  [
    "waits for a processor while it starts",
    undefined,
    (second) => ({ beats: 0, processorMs: 50 * second, isRunnable: true }),
  ],
  [
    "starts after a minute",
    undefined,
    (second) => ({ beats: second < 60 ? 0 : second, processorMs: 5 * second, isRunnable: true }),
  ],
])("a thread that %s is ended after %s seconds", (_, seconds, work) => {
  const ended = secondsUntilStalled(work);
  if (seconds === undefined) expect(ended).toBeUndefined();
  else expect(ended).toBeCloseTo(seconds, -0.5);
});

it("without what the operating system says, a thread may stand still for two seconds", () => {
  expect(secondsUntilStalled(() => undefined)).toBeCloseTo(2, 0);
});
