import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createOneTimeLink, LINK_MINUTES } from "./one-time-link.ts";

const LIFE_MS = LINK_MINUTES * 60_000;

function createLink() {
  const time = { now: 1_800_000_000_000, elapsed: 5_000 };
  const clock = { now: () => time.now, elapsed: () => time.elapsed };
  const link = createOneTimeLink(clock, { bytes: (length) => randomBytes(length) });
  return { link, time };
}

describe("the one-time link", () => {
  it("is taken once", () => {
    const { link } = createLink();
    const secret = link.create();
    expect(Buffer.from(secret, "base64url")).toHaveLength(32);
    expect([link.isValid(secret), link.isValid(secret)]).toEqual([true, true]);
    expect([link.take(secret), link.take(secret), link.isValid(secret)]).toEqual([true, false, false]);
  });

  it.each<[string, (time: { now: number; elapsed: number }) => void, boolean]>([
    ["just before its end", (time) => (time.elapsed += LIFE_MS - 1), true],
    ["at its end by the monotonic clock", (time) => (time.elapsed += LIFE_MS), false],
    [
      "at its end while the clock of the day went back an hour",
      (time) => Object.assign(time, { now: time.now - 3_600_000, elapsed: time.elapsed + LIFE_MS }),
      false,
    ],
    ["after the clock of the day went back", (time) => (time.now -= 3_600_000), true],
    ["after the machine slept", (time) => (time.now += LIFE_MS), false],
  ])("%s: %s", (_, pass, isValid) => {
    const { link, time } = createLink();
    const secret = link.create();
    pass(time);
    expect([link.isValid(secret), link.take(secret)]).toEqual([isValid, isValid]);
  });

  it("withstands guesses, and stays valid meanwhile", () => {
    const { link } = createLink();
    const secret = link.create();
    const other = createLink().link.create();
    const flipped = `${secret.slice(0, -2)}${secret.endsWith("AA") ? "BA" : "AA"}`;
    const guesses = [
      "",
      " ",
      secret.slice(1),
      `${secret} `,
      `${secret}=`,
      secret.toUpperCase() + secret,
      other,
      flipped,
    ];
    for (const guess of guesses) expect([guess, link.isValid(guess), link.take(guess)]).toEqual([guess, false, false]);
    expect(link.take(secret)).toBe(true);
  });

  it("is replaced by the next, and none is valid before the first", () => {
    const { link } = createLink();
    expect([link.isValid(""), link.take("")]).toEqual([false, false]);
    const first = link.create();
    const second = link.create();
    expect([link.take(first), link.take(second)]).toEqual([false, true]);
  });
});
