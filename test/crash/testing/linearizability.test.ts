import { describe, expect, test } from "vitest";
import { checkLinearizable, type Input, type Operation, UNTOLD, type WriteId } from "./linearizability.ts";

const done = (call: number, ret: number, input: Input, seen?: WriteId): Operation => ({
  input,
  call,
  output: { type: "done", seen, return: ret },
});
const refused = (call: number, ret: number, input: Input, seen?: WriteId | typeof UNTOLD): Operation => ({
  input,
  call,
  output: { type: "refused", seen, return: ret },
});
const unknown = (call: number, input: Input): Operation => ({ input, call, output: { type: "unknown" } });
const get: Input = { type: "get" };
const create = (id: number): Input => ({ type: "create", id });
const update = (expected: number, id: number): Input => ({ type: "update", id, expected });
const remove = (expected: number): Input => ({ type: "delete", expected });

describe("the checker accepts", () => {
  test.each<[string, Operation[]]>([
    ["an empty history", []],
    [
      "one operation after the other",
      [done(1, 2, create(1)), done(3, 4, get, 1), done(5, 6, remove(1)), done(7, 8, get)],
    ],
    ["a read that overlaps a write and sees either", [done(1, 6, create(1)), done(2, 3, get), done(4, 5, get, 1)]],
    ["a refused write that tells what is there", [done(1, 2, create(1)), refused(3, 4, create(2), 1)]],
    ["a refused write that does not tell", [done(1, 2, create(1)), refused(3, 4, create(2), UNTOLD)]],
    ["a write without an answer that is seen later", [unknown(1, create(1)), done(2, 3, get), done(4, 5, get, 1)]],
    ["a write without an answer that never happened", [unknown(1, create(1)), done(2, 3, get), done(4, 5, create(2))]],
    [
      "of two updates at once one that wins and one that is refused",
      [done(1, 2, create(1)), done(3, 6, update(1, 2)), refused(4, 5, update(1, 3), 2)],
    ],
  ])("%s", (_name, history) => {
    expect(checkLinearizable(history)).toEqual({ linearizable: true });
  });
});

describe("the checker rejects", () => {
  test.each<[string, Operation[]]>([
    ["an acknowledged write that is lost", [done(1, 2, create(1)), done(3, 4, get)]],
    ["a stale read", [done(1, 2, create(1)), done(3, 4, update(1, 2)), done(5, 6, get, 1)]],
    ["two winners of one revision", [done(1, 2, create(1)), done(3, 6, update(1, 2)), done(4, 5, update(1, 3))]],
    ["a value that comes back", [unknown(1, create(1)), done(2, 3, get, 1), done(4, 5, get)]],
    [
      "reads that see two writes in different orders",
      [done(1, 2, create(1)), done(3, 10, update(1, 2)), done(4, 5, get, 2), done(6, 7, get, 1)],
    ],
    ["a refusal without a reason", [done(1, 2, create(1)), refused(3, 4, update(1, 2), 1)]],
    ["a refusal that tells no reason and has none", [done(1, 2, create(1)), refused(3, 4, update(1, 2), UNTOLD)]],
    ["a deletion that did not delete", [done(1, 2, create(1)), done(3, 4, remove(1)), done(5, 6, get, 1)]],
  ])("%s", (_name, history) => {
    expect(checkLinearizable(history).linearizable).toBe(false);
  });
});

test("a history of thousands of operations with many clients at once is checked in little time", () => {
  // Eight clients that overlap all the time: each update returns only after seven others have begun.
  const history: Operation[] = [done(0, 0.5, create(1))];
  for (let id = 2; id < 4_000; id++) history.push(done(id, id + 7.5, update(id - 1, id)));
  expect(checkLinearizable(history).linearizable).toBe(true);
});
