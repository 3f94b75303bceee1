import type { Steps } from "@postern/apimachinery/steps/steps";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Lanes } from "./lanes.ts";
import { createLongWork, LONG_WORK_BYTES, WorkParts } from "./long-work.ts";

let now = 0;
const clock = { elapsed: () => now };

/** In which turn of the event loop we are. */
let turn = 0;
let counting: NodeJS.Immediate;
beforeEach(() => {
  const count = (): void => {
    turn++;
    counting = setImmediate(count);
  };
  counting = setImmediate(count);
});
afterEach(() => clearImmediate(counting));

type Done = { readonly name: string; readonly turn: number };

function* steps(name: string, count: number, ms: number, log: Done[]): Steps<string> {
  for (let step = 1; step <= count; step++) {
    log.push({ name: `${name}${step}`, turn });
    now += ms;
    yield;
  }
  return name;
}

const stepsOf = (log: readonly Done[], turn: number): number => log.filter((each) => each.turn === turn).length;

function largeParts(): WorkParts {
  const parts = new WorkParts(work);
  parts.weigh(LONG_WORK_BYTES);
  return parts;
}

const work = createLongWork(clock);

describe("long work", () => {
  it("does one part in each turn of the event loop, those of each client in turn", async () => {
    const log: Done[] = [];
    const begin = (client: string, name: string, count: number) =>
      largeParts().run(client, steps(name, count, 30, log));
    expect(await Promise.all([begin("a", "x", 2), begin("a", "y", 1), begin("b", "z", 2)])).toEqual(["x", "y", "z"]);
    expect(log.map(({ name }) => name)).toEqual(["x1", "z1", "y1", "z2", "x2"]);
    expect(new Set(log.map((each) => each.turn)).size).toBe(log.length);
  });

  it("is also that of a small request which turns out to take long", async () => {
    const log: Done[] = [];
    const short = new WorkParts(work);
    // Without a promise, in the turn in which it began.
    expect(short.run("a", steps("x", 3, 1, log))).toBe("x");
    expect(short.isLong).toBe(false);
    log.length = 0;
    const [long, other] = [new WorkParts(work), new WorkParts(work)];
    const all = [long.run("a", steps("y", 4, 3, log)), other.run("b", steps("z", 4, 3, log))];
    expect(await Promise.all(all)).toEqual(["y", "z"]);
    expect(long.isLong).toBe(true);
    const longest = Math.max(...[...new Set(log.map((each) => each.turn))].map((at) => stepsOf(log, at)));
    // Two of each in the turn in which both came, and then as of any other long work.
    expect(longest).toBeLessThanOrEqual(4);
    expect(new Set(log.map((each) => each.turn)).size).toBeGreaterThan(2);
  });

  it("goes on behind an error, which holds nobody up", async () => {
    vi.spyOn(Lanes.prototype, "take").mockImplementationOnce(() => {
      throw new TypeError("once");
    });
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    const uncaught: unknown[] = [];
    const take = (error: unknown): void => void uncaught.push(error);
    process.on("uncaughtException", take);
    const log: Done[] = [];
    const begin = (client: string) => largeParts().run(client, steps(client, 1, 30, log));
    expect(await Promise.all([begin("a"), begin("b")])).toEqual(["a", "b"]);
    process.off("uncaughtException", take);
    for (const listener of others) process.on("uncaughtException", listener);
    expect(uncaught).toEqual([new TypeError("once")]);
  });

  it("gives each tenant its turn, however many clients it has", async () => {
    const log: Done[] = [];
    const begin = (lane: string, client: string, name: string) => {
      const parts = largeParts();
      parts.enter(lane);
      return parts.run(client, steps(name, 1, 30, log));
    };
    const many = ["a", "b", "c"].map((client) => begin("many", client, `many-${client}`));
    await Promise.all([...many, begin("one", "a", "one")]);
    expect(log.map(({ name }) => name)).toEqual(["many-a1", "one1", "many-b1", "many-c1"]);
  });

  it("gives way only after a while: short steps go on at once", async () => {
    const log: Done[] = [];
    await largeParts().run("a", steps("x", 3, 1, log));
    expect(new Set(log.map((each) => each.turn)).size).toBe(1);
  });

  it("is none where the object is small", () => {
    const parts = new WorkParts(work);
    parts.weigh(LONG_WORK_BYTES - 1);
    expect(parts.run("a", steps("x", 3, 1, []))).toBe("x");
    expect(parts.pause("a")).toBeUndefined();
  });
});
