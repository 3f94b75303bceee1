import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createTurnBudget } from "./turn-budget.ts";

const one = (): number => 1;

it("has room again in each turn of the event loop", async () => {
  const budget = createTurnBudget(2);
  budget.spend(1);
  expect(budget.isOver()).toBe(false);
  budget.spend(1);
  expect(budget.isOver()).toBe(true);
  await nextTurn();
  expect(budget.isOver()).toBe(false);
});

it("begins as much in a later turn as one may have, in order, and nothing that is no longer wanted", async () => {
  const budget = createTurnBudget(2);
  const begun: string[] = [];
  const [, b] = [..."abcde"].map((name) => budget.later(() => begun.push(name), one));
  b?.[Symbol.dispose]();
  const turns: string[] = [];
  while (begun.length < 4) {
    await nextTurn();
    turns.push(begun.slice(turns.join("").length).join(""));
  }
  expect(turns).toEqual(["ac", "de"]);
});

it("lets new work wait behind the work that waits", () => {
  const budget = createTurnBudget(10);
  const waits = budget.later(() => undefined, one);
  expect(budget.isOver()).toBe(true);
  waits[Symbol.dispose]();
  expect(budget.isOver()).toBe(false);
});

it("goes on behind work that throws", async () => {
  const budget = createTurnBudget(10);
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const uncaught = new Promise((resolve) => process.once("uncaughtException", resolve));
  budget.later(() => {
    throw new Error("once");
  }, one);
  const next = new Promise((resolve) => budget.later(() => resolve("next"), one));
  expect(await uncaught).toEqual(new Error("once"));
  for (const other of others) process.on("uncaughtException", other);
  expect(await next).toBe("next");
});
