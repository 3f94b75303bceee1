import { describe, expect, it } from "vitest";
import { createClockEpochs, sharedEpochsOf } from "./clock-epochs.ts";
import { manualTime } from "./testing/manual-time.ts";

const HOUR = 3_600_000;
const START = 100 * HOUR;

function world() {
  const time = manualTime(START);
  return { ...time, epochs: createClockEpochs(time.clock) };
}

describe("how late it is for a moment that was seen for the first time", () => {
  it("is the time of day while nothing sets the clock", () => {
    const { epochs, advance } = world();
    advance(HOUR);
    for (const moment of [0, START, START + HOUR, START + 2 * HOUR])
      expect(epochs.latestSince(moment)).toBe(START + HOUR);
  });

  it("goes on by the clock before it was set back, for what is older than the time it was set to", () => {
    const { epochs, advance, setTimeOfDay } = world();
    advance(2 * HOUR);
    setTimeOfDay(START + HOUR);
    expect(epochs.latestSince(START)).toBe(START + 2 * HOUR);
    advance(HOUR / 2);
    expect(epochs.latestSince(START)).toBe(START + 2.5 * HOUR);
  });

  it("is the time of day for what may have been made since the clock was set back", () => {
    const { epochs, advance, setTimeOfDay } = world();
    advance(2 * HOUR);
    setTimeOfDay(START);
    epochs.latestSince(0);
    advance(HOUR);
    expect(epochs.latestSince(START + HOUR / 2)).toBe(START + HOUR);
  });

  it("keeps the time of a clock that was ahead for a while, for what was made before", () => {
    const { epochs, setTimeOfDay } = world();
    setTimeOfDay(START + 5 * HOUR);
    expect(epochs.latestSince(START)).toBe(START + 5 * HOUR);
    setTimeOfDay(START + 1);
    expect(epochs.latestSince(START)).toBe(START + 5 * HOUR);
    expect(epochs.latestSince(START + 2)).toBe(START + 1);
  });

  it("never goes back for one moment until the time of day has reached it again", () => {
    const seed = Number(process.env["TEST_SEED"]);
    let state = seed;
    const draw = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return state % below;
    };
    const { epochs, clock, advance, setTimeOfDay } = world();
    const moment = START - 1;
    let last = 0;
    for (let step = 0; step < 500; step++) {
      if (draw(3) === 0) setTimeOfDay(START + draw(48) * HOUR);
      else advance(draw(HOUR));
      const now = epochs.latestSince(moment);
      expect(now, `TEST_SEED=${seed}, step ${step}`).toBeGreaterThanOrEqual(Math.max(last, clock.now()));
      last = now;
    }
  });
});

it("holds for all who share a clock, also for those that ask later", () => {
  const { clock, setTimeOfDay } = manualTime(START);
  setTimeOfDay(START + 5 * HOUR);
  sharedEpochsOf(clock).current();
  setTimeOfDay(START);
  expect(sharedEpochsOf(clock).latestSince(START - HOUR)).toBe(START + 5 * HOUR);
  expect(createClockEpochs(clock).latestSince(START - HOUR)).toBe(START);
});
