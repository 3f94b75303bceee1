// How the body of a target's response waits for its reader.

import { expect, test } from "vitest";
import { UpstreamResponse } from "./upstream-response.ts";

const PART = Buffer.alloc(16 << 10, "x");

function openResponse() {
  const calls: string[] = [];
  const response = new UpstreamResponse(
    200,
    {},
    { pause: () => calls.push("pause"), resume: () => calls.push("resume"), cut: () => calls.push("cut") },
  );
  return { calls, response };
}

test("parts that have come while the reader was busy are one piece", async () => {
  const { response } = openResponse();
  const reader = response[Symbol.asyncIterator]();
  for (let count = 0; count < 3; count++) response.push(PART);
  expect((await reader.next()).value).toEqual(Buffer.concat([PART, PART, PART]));
  response.push(PART);
  response.end();
  expect((await reader.next()).value).toEqual(PART);
  expect((await reader.next()).done).toBe(true);
});

test("the connection is read on while the reader has the piece before, and stops when as much waits again", async () => {
  const { calls, response } = openResponse();
  const reader = response[Symbol.asyncIterator]();
  for (let count = 0; count < 4; count++) response.push(PART);
  expect(calls).toEqual(["pause"]);
  await reader.next();
  expect(calls).toEqual(["pause", "resume"]);
  for (let count = 0; count < 4; count++) response.push(PART);
  expect(calls).toEqual(["pause", "resume", "pause"]);
});

test("the connection is left alone behind the end of the response", async () => {
  const { calls, response } = openResponse();
  for (let count = 0; count < 4; count++) response.push(PART);
  response.end();
  expect(response.whole()).toHaveLength(4 * PART.length);
  expect(calls).toEqual(["pause"]);
});

test("pieces of a byte are counted as what they take: a target that sends many is not read on for longer", () => {
  const { calls, response } = openResponse();
  let pieces = 0;
  while (calls.length === 0 && pieces < 1_000) {
    response.push(PART.subarray(0, 1));
    pieces += 1;
  }
  expect(calls).toEqual(["pause"]);
  expect(pieces).toBeLessThan(300);
});
