// One question to the store for all credentials that memory does not know.

import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { createCatchUp } from "./catch-up.ts";

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

it("asks nothing where memory is the newest state", () => {
  const { catchUp, answers } = world({ isNewest: true });
  expect([catchUp(), answers.length]).toEqual([undefined, 0]);
});

it("asks once for all guesses of an interval, and again for those that come after the question", async () => {
  const { catchUp, answers, time, settle } = world();
  let done = 0;
  const wait = () => void catchUp()?.then(() => void done++);
  wait();
  expect(answers.length).toBe(1);
  for (let guess = 0; guess < 1_000; guess++) wait();
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

it("asks no more than 40 times a second, however many guesses there are", async () => {
  const { catchUp, answers, time, settle } = world();
  for (let at = 0; at < 1_000; at++) {
    for (let guess = 0; guess < 5; guess++) void catchUp();
    time.advance(1);
    await settle();
    for (const answer of answers) answer();
  }
  expect(answers.length).toBeLessThanOrEqual(41);
});

it("lets nobody wait for a store that does not answer, and has a bound for those that wait", async () => {
  const { catchUp, time, settle } = world();
  let done = 0;
  void catchUp()?.then(() => void done++);
  let accepted = 1;
  while (accepted < 10_000 && catchUp() !== undefined) accepted++;
  expect(accepted).toBe(5_000);
  time.advance(1_500);
  await settle();
  expect(done).toBe(1);
});

it("lets values without a form wait in places of their own, with the same question", async () => {
  const { catchUp, answers } = world();
  let formless = 0;
  while (formless < 10_000 && catchUp(true) !== undefined) formless++;
  expect(formless).toBe(1_000);
  expect(catchUp()).toBeDefined();
  expect(answers.length).toBe(1);
});
