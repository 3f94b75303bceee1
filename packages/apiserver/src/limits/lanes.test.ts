import { describe, expect, it } from "vitest";
import { Lanes } from "./lanes.ts";

/** Serves one item after the other, each for what it costs. */
function served(lanes: Lanes<readonly [name: string, cost: number]>): string[] {
  const names: string[] = [];
  for (let next = lanes.take(); next !== undefined; next = lanes.take()) {
    names.push(next.item[0]);
    lanes.finish(next.lane, next.item[1]);
  }
  return names;
}

describe("lanes", () => {
  it("share turns among tenants, however many clients one has", () => {
    const lanes = new Lanes<readonly [string, number]>();
    for (let client = 0; client < 50; client++) lanes.add("many", `${client}`, [`many${client}`, 1]);
    for (let index = 0; index < 3; index++) lanes.add("one", "a", [`one${index}`, 1]);
    expect(served(lanes).slice(0, 6)).toEqual(["many0", "one0", "many1", "one1", "many2", "one2"]);
  });

  it("share the time, not the number of items", () => {
    const lanes = new Lanes<readonly [string, number]>();
    for (let index = 0; index < 3; index++) lanes.add("dear", "a", [`dear${index}`, 100]);
    for (let index = 0; index < 5; index++) lanes.add("cheap", "a", [`cheap${index}`, 1]);
    expect(served(lanes)).toEqual(["dear0", "cheap0", "cheap1", "cheap2", "cheap3", "cheap4", "dear1", "dear2"]);
  });

  it("give clients of a lane their turns", () => {
    const lanes = new Lanes<readonly [string, number]>();
    for (const name of ["a1", "a2", "a3", "b1"]) lanes.add("one", name.slice(0, 1), [name, 1]);
    expect(served(lanes)).toEqual(["a1", "b1", "a2", "a3"]);
  });

  it("have one item of a lane in work at a time", () => {
    const lanes = new Lanes<string>();
    lanes.add("a", "x", "a1");
    lanes.add("a", "x", "a2");
    expect(lanes.take()?.item).toBe("a1");
    expect(lanes.take()).toBeUndefined();
    lanes.add("b", "x", "b1");
    expect(lanes.take()?.item).toBe("b1");
    lanes.finish("a", 1);
    expect(lanes.take()?.item).toBe("a2");
    expect(lanes.isWaiting).toBe(false);
  });

  it("give a lane that was idle no advance, and forget no debt while others work", () => {
    const lanes = new Lanes<string>();
    for (let index = 0; index < 4; index++) lanes.add("busy", "x", `busy${index}`);
    const work = (cost: number): string | undefined => {
      const next = lanes.take();
      if (next !== undefined) lanes.finish(next.lane, cost);
      return next?.item;
    };
    expect(work(100)).toBe("busy0");
    // It begins at what the others have spent, and not 100 behind them.
    lanes.add("late", "x", "late0");
    lanes.add("late", "x", "late1");
    expect([work(50), work(1_000), work(50)]).toEqual(["busy1", "late0", "busy2"]);
    lanes.add("busy", "x", "busy4");
    expect([work(50), work(50), work(1)]).toEqual(["busy3", "busy4", "late1"]);
  });
});
