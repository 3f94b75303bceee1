import type { ServerResponse } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { createShortAnswers } from "./http1-exchange.ts";

/** Notes what each of so many responses was ended with. */
function responses(count: number) {
  const ended: string[] = [];
  const list = Array.from({ length: count }, () => ({ end: (text: string) => ended.push(text) }));
  return { list: list as unknown as readonly ServerResponse[], ended };
}

it("writes short answers together once the requests have been handled that arrived together, in their order", async () => {
  const answers = createShortAnswers();
  const { list, ended } = responses(3);
  for (const [at, response] of list.entries()) answers.end(response, Buffer.from(String(at)));
  expect(ended).toEqual([]);
  await nextTurn();
  expect(ended).toEqual(["0", "1", "2"]);
});

it("writes no more of them at a time than take little of a turn", async () => {
  const answers = createShortAnswers();
  const { list, ended } = responses(40);
  for (const response of list) answers.end(response, Buffer.from("x"));
  expect(ended.length).toBe(32);
  await nextTurn();
  expect(ended.length).toBe(40);
});
