import type { Settings } from "node:http2";
import { expect, it } from "vitest";
import { createStreamWindows } from "./stream-windows.ts";

/** A session whose peer acknowledges settings when the test says so. */
function openSession() {
  const sent: number[] = [];
  const acknowledgements: (() => void)[] = [];
  let freed = 0;
  const session = {
    destroyed: false,
    closed: false,
    settings({ initialWindowSize = 0 }: Settings, callback?: (error: Error | null) => void) {
      sent.push(initialWindowSize);
      acknowledgements.push(() => callback?.(null));
    },
  };
  const windows = createStreamWindows(session as never, { most: 512, least: 64, total: 4_096 }, () => freed++);
  return { sent, windows, acknowledge: () => acknowledgements.shift()?.(), freed: () => freed };
}

it("tells the peer of smaller windows while streams are many, and of larger ones when they are few", () => {
  const { sent, windows, acknowledge } = openSession();
  for (const streams of [1, 8, 9, 17, 40]) windows.adjust(streams);
  // One at a time, and the last of those that were wanted meanwhile.
  expect(sent).toEqual([256]);
  acknowledge();
  expect(sent).toEqual([256, 64]);
  acknowledge();
  for (const streams of [39, 33, 17]) windows.adjust(streams);
  expect(sent).toEqual([256, 64]);
  windows.adjust(16);
  acknowledge();
  windows.adjust(4);
  acknowledge();
  expect(sent).toEqual([256, 64, 128, 512]);
});

it("has room for as many streams as the peer has acknowledged, whatever was sent", () => {
  const { windows, acknowledge, freed } = openSession();
  expect([0, 7, 8].map((streams) => windows.hasRoom(streams))).toEqual([true, true, false]);
  windows.adjust(9);
  expect(windows.hasRoom(8)).toBe(false);
  acknowledge();
  expect([freed(), windows.hasRoom(8), windows.hasRoom(16)]).toEqual([1, true, false]);
  windows.adjust(100);
  acknowledge();
  expect(windows.hasRoom(1_000)).toBe(true);
});
