// One question to the store for all credentials that memory does not know.

import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { createCatchUp } from "./catch-up.ts";

const ADDRESS = "10.0.0.1";

function world({ isNewest = false } = {}) {
  const time = manualTime();
  const answers: (() => void)[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const catchUp = createCatchUp({
    ...time,
    cache: {
      isNewest: () => isNewest,
      refresh: (options) => {
        signals.push(options?.signal);
        return new Promise((resolve, reject) => {
          answers.push(() => resolve(1));
          options?.signal?.addEventListener("abort", () => reject(options.signal?.reason));
        });
      },
    },
  });
  const settle = async () => {
    for (let at = 0; at < 10; at++) await Promise.resolve();
  };
  return { time, answers, signals, catchUp, settle };
}

it("memory that is the newest state asks the store nothing", () => {
  const { catchUp, answers } = world({ isNewest: true });
  expect([catchUp(ADDRESS), answers.length]).toEqual([undefined, 0]);
});

it("all guesses of an interval share one question, and those that come after it the next one", async () => {
  const { catchUp, answers, time, settle } = world();
  let done = 0;
  const wait = (at = 0) => void catchUp(`10.0.0.${at % 10}`)?.then(() => void done++);
  wait();
  expect(answers.length).toBe(1);
  for (let guess = 0; guess < 1_000; guess++) wait(guess);
  expect(answers.length).toBe(1);
  answers[0]?.();
  await settle();
  // The others came after the question: its answer need not have what they ask for.
  expect(done).toBe(1);
  time.advance(25);
  await settle();
  expect(answers.length).toBe(2);
  answers[1]?.();
  await settle();
  expect(done).toBe(1_001);
});

it("any number of guesses asks the store 40 times a second at most", async () => {
  const { catchUp, answers, time, settle } = world();
  for (let at = 0; at < 1_000; at++) {
    for (let guess = 0; guess < 5; guess++) void catchUp(ADDRESS);
    time.advance(1);
    await settle();
    for (const answer of answers) answer();
  }
  expect(answers.length).toBeLessThanOrEqual(41);
});

it("no request waits for a store that does not answer, and the number of those that wait is bounded", async () => {
  const { catchUp, time, settle } = world();
  let done = 0;
  void catchUp(ADDRESS)?.then(() => void done++);
  let accepted = 1;
  while (accepted < 10_000 && catchUp(`10.0.0.${accepted % 100}`) !== undefined) accepted++;
  expect(accepted).toBe(5_000);
  time.advance(1_500);
  await settle();
  expect(done).toBe(1);
});

it("values without a form wait in places of their own, for the same question", async () => {
  const { catchUp, answers } = world();
  let formless = 0;
  while (formless < 10_000 && catchUp(`10.0.0.${formless % 100}`, { isFormless: true }) !== undefined) formless++;
  expect(formless).toBe(1_000);
  expect(catchUp("10.0.0.1")).toBeDefined();
  expect(answers.length).toBe(1);
});

it.each([false, true])("a source takes no places of other sources (without a form: %s)", async (isFormless) => {
  const { catchUp, time, settle } = world();
  const share = isFormless ? 100 : 500;
  const takenBy = (addressOf: (at: number) => string): number => {
    let taken = 0;
    while (taken < 20_000 && catchUp(addressOf(taken), { isFormless }) !== undefined) taken++;
    return taken;
  };
  expect(takenBy(() => ADDRESS)).toBe(share);
  // All addresses of its network are one source.
  expect(takenBy((at) => `2001:db8:1:2::${(at + 1).toString(16)}`)).toBe(share);
  expect(takenBy((at) => `10.1.0.${at % 200}`)).toBe(8 * share);
  // Also where all places are taken, another one can use what was just issued to it.
  expect(catchUp("192.0.2.7", { isFormless })).toBeDefined();
  expect(catchUp("192.0.2.7", { isFormless })).toBeUndefined();
  for (let question = 0; question < 3; question++) {
    time.advance(1_500);
    await settle();
  }
  expect(catchUp(ADDRESS, { isFormless })).toBeDefined();
});
