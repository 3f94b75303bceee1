// The loop that runs the phases of a request one after the other. It alone lets other requests run in between, and ends those whose client has gone.

import type { RequestContext } from "../../context/request-context.ts";

export type PhaseState = {
  readonly context: RequestContext;
  /** Whether the store has been asked to write: from then on the phases run to their end, whether or not the client still waits. */
  readonly isSent: boolean;
};

/** Returned by a phase after which nothing is left to do. */
export const DONE = Symbol("done");

/** One step of a request: a walk over its object at most, or a question to another part of the server or to a webhook. It reads and changes the state. */
export type Phase<State extends PhaseState> = (state: State) => unknown;

/** Resolves when the last phase has ended, or one that returns `DONE`. Rejects with the error of the phase that fails, or the reason of the signal. */
export async function runPhases<State extends PhaseState>(
  phases: readonly Phase<State>[],
  state: State,
): Promise<void> {
  const { context } = state;
  for (const phase of phases) {
    const othersFirst = context.pause();
    if (othersFirst !== undefined) {
      await othersFirst;
      if (!state.isSent) context.signal.throwIfAborted();
    }
    const outcome = phase(state);
    // Most wait for nothing.
    if ((outcome instanceof Promise ? await outcome : outcome) === DONE) return;
  }
}
