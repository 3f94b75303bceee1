// The loop that runs the phases of a request one after the other. It alone lets other requests run in between, and ends those whose client has gone.

import type { RequestContext } from "../../../context/request-context.ts";
import type { Awaitable } from "../../../runtime/awaitable.ts";

export type PhaseState = {
  readonly context: RequestContext;
  /** Whether the store has been asked to write: from then on the phases run to their end, whether or not the client still waits. */
  readonly isSent: boolean;
};

/** Returned by a phase after which nothing is left to do. */
export const DONE = Symbol("done");

/** One step of a request: a walk over its object at most, or a question to another part of the server or to a webhook. It reads and changes the state. */
export type Phase<State extends PhaseState> = (state: State) => unknown;

/**
 * Ends, at once where no phase waits, when the last phase has ended, or one that returns `DONE`. Throws, or rejects with, the error of the phase that
 * fails, or the reason of the signal.
 */
export function runPhases<State extends PhaseState>(
  phases: readonly Phase<State>[],
  state: State,
  from = 0,
): Awaitable<void> {
  for (let at = from; at < phases.length; at++) {
    const othersFirst = state.context.pause();
    if (othersFirst !== undefined) return runAfterOthers(othersFirst, phases, state, at);
    const outcome = phases[at]?.(state);
    if (outcome instanceof Promise) return runBehind(outcome, phases, state, at + 1);
    if (outcome === DONE) return;
  }
}

async function runBehind<State extends PhaseState>(
  outcome: unknown,
  phases: readonly Phase<State>[],
  state: State,
  from: number,
): Promise<void> {
  if ((await outcome) !== DONE) await runPhases(phases, state, from);
}

async function runAfterOthers<State extends PhaseState>(
  others: Promise<void>,
  phases: readonly Phase<State>[],
  state: State,
  at: number,
): Promise<void> {
  await others;
  if (!state.isSent) state.context.signal.throwIfAborted();
  await runBehind(phases[at]?.(state), phases, state, at + 1);
}
