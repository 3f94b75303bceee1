import { expect, it } from "vitest";
import { followMemoryPressure } from "./memory-pressure.ts";

/** A process whose memory a test sets, and a scheduler whose time a test lets pass. */
function fakeProcess(limitBytes: number) {
  const calls: string[] = [];
  const tasks: (() => void)[] = [];
  const memory = { resident: 0, garbage: 0 };
  const heap = {
    residentBytes: () => memory.resident,
    limitGrowth: (isLittle: boolean) => void calls.push(isLittle ? "little" : "much"),
    collect() {
      calls.push("collect");
      memory.resident -= memory.garbage;
      memory.garbage = 0;
    },
  };
  const scheduler = {
    schedule(_ms: number, task: () => void) {
      tasks.push(task);
      return { [Symbol.dispose]: () => void tasks.splice(tasks.indexOf(task), 1) };
    },
  };
  const pressure = followMemoryPressure({ limitBytes, heap, scheduler });
  const at = (resident: number): boolean => {
    memory.resident = resident;
    for (const task of tasks.splice(0)) task();
    return pressure.isShort;
  };
  return { at, calls, memory, pressure, tasks };
}

it("lets the heap grow less where memory is tight, and as before where it is not", () => {
  const { at, calls } = fakeProcess(1_000);
  for (const resident of [300, 690, 710, 800, 680, 660, 640, 690]) expect(at(resident)).toBe(false);
  expect(calls).toEqual(["little", "much"]);
});

it("is short near the limit unless a collection makes room, and collects seldom", () => {
  const { at, calls, memory } = fakeProcess(1_000);
  memory.garbage = 300;
  expect(at(900)).toBe(false);
  for (let count = 0; count < 39; count++) expect(at(900)).toBe(true);
  expect(calls).toEqual(["little", "collect"]);
  at(900);
  expect(calls).toEqual(["little", "collect", "collect"]);
  expect(at(870)).toBe(false);
});

it("leaves the heap as it was when it ends, and no timer", () => {
  const { at, calls, pressure, tasks } = fakeProcess(1_000);
  at(800);
  pressure[Symbol.dispose]();
  expect([calls, tasks.length]).toEqual([["little", "much"], 0]);
});
