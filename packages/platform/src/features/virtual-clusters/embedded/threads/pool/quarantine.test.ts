import { beforeEach, describe, expect, it } from "vitest";
import { createQuarantine, type Quarantine } from "./quarantine.ts";

const MINUTE = 60_000;
let now = 0;
let quarantine: Quarantine;
beforeEach(() => {
  now = 0;
  quarantine = createQuarantine({ now: () => now, elapsed: () => now });
});

describe("a cluster that stopped its thread", () => {
  it("runs alone at once after the first time, and pauses longer after each further time", () => {
    const pauses = Array.from({ length: 8 }, () => {
      quarantine.add("a", "stalled");
      const pause = quarantine.pauseOf("a")?.remainingMs ?? 0;
      now += pause;
      expect(quarantine.pauseOf("a")).toBeUndefined();
      return pause / 1000;
    });
    expect(pauses).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
    expect(quarantine.has("b")).toBe(false);
  });

  it("is like any other ten minutes after its pause", () => {
    for (let count = 0; count < 3; count++) quarantine.add("a", "memory");
    now += 10 * MINUTE;
    expect(quarantine.has("a")).toBe(true);
    now += 20_000;
    expect(quarantine.has("a")).toBe(false);
    quarantine.add("a", "memory");
    expect(quarantine.pauseOf("a")).toBeUndefined();
  });

  it("is described by the same text for as long as it pauses", () => {
    quarantine.add("a", "stalled");
    quarantine.add("a", "stalled");
    const first = quarantine.pauseOf("a");
    now += 4_000;
    expect(quarantine.pauseOf("a")).toMatchObject({ reason: "CrashLoopBackOff", message: first?.message });
    expect(first?.message).toContain("2 times; it may start again at 1970-01-01T00:00:10.000Z");
  });
});
