import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RequestContext } from "../../../context/request-context.ts";
import { createLongWork, LONG_WORK_BYTES, WorkParts } from "../../../limits/long-work.ts";
import { DONE, type Phase, runPhases } from "./run-phases.ts";

let now = 0;
const work = createLongWork({ elapsed: () => now });

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

type State = {
  readonly context: RequestContext;
  isSent: boolean;
  readonly seen: string[];
  readonly turns: Set<number>;
  readonly gone: AbortController;
};

function stateOf(bytes: number): State {
  const parts = new WorkParts(work);
  parts.weigh(bytes);
  const gone = new AbortController();
  // The two members that the loop uses.
  const context = { pause: () => parts.pause("a"), signal: gone.signal } as unknown as RequestContext;
  return { context, isSent: false, seen: [], turns: new Set(), gone };
}

/** A phase of 30 ms that notes that it ran. */
const phase =
  (name: string, more: Phase<State> = () => undefined): Phase<State> =>
  (state) => {
    state.seen.push(name);
    state.turns.add(turn);
    now += 30;
    return more(state);
  };

describe("the phases of a request", () => {
  it("run in their order, each when the one before has resolved", async () => {
    const state = stateOf(0);
    const later = phase("b", async ({ seen }) => {
      await new Promise(setImmediate);
      seen.push("b ended");
    });
    await runPhases([phase("a"), later, phase("c")], state);
    expect(state.seen).toEqual(["a", "b", "b ended", "c"]);
  });

  it("wait for nothing but promises: the others run in one go", async () => {
    const state = stateOf(0);
    const running = runPhases([phase("a"), phase("b"), phase("c", async () => DONE), phase("d")], state);
    expect(state.seen).toEqual(["a", "b", "c"]);
    await running;
    expect(state.seen).toEqual(["a", "b", "c"]);
  });

  it("end behind the one that says so", async () => {
    const state = stateOf(0);
    await runPhases([phase("a"), phase("b", () => DONE), phase("c")], state);
    expect(state.seen).toEqual(["a", "b"]);
  });

  it("have a turn of the event loop each where the object is large, and one for all where it is small", async () => {
    const [small, large] = [stateOf(LONG_WORK_BYTES - 1), stateOf(LONG_WORK_BYTES)];
    const phases = [phase("a"), phase("b"), phase("c")];
    await runPhases(phases, small);
    await runPhases(phases, large);
    expect([small.turns.size, large.turns.size]).toEqual([1, 3]);
  });

  it("end with a client that has gone, until the store was asked to write", async () => {
    const leave = phase("leave", ({ gone }) => gone.abort(new Error("gone")));
    const send = phase("send", (state) => {
      state.isSent = true;
    });
    const before = stateOf(LONG_WORK_BYTES);
    await expect(runPhases([leave, send, phase("hook")], before)).rejects.toThrow("gone");
    expect(before.seen).toEqual(["leave"]);
    const after = stateOf(LONG_WORK_BYTES);
    await runPhases([send, leave, phase("hook")], after);
    expect(after.seen).toEqual(["send", "leave", "hook"]);
  });
});
