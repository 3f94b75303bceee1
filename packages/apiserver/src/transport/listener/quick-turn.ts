// The moment at which a listener closes: the kernel resets connections that are complete and were not accepted.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "../../runtime/clock.ts";

/** Connections seldom arrive in a turn of the event loop that is shorter. */
const SHORT_MS = 0.3;
/** A busy thread has no short turn. */
const MOST_TURNS = 500;

/** Resolves behind a short turn of the event loop: it has accepted what was there when the turn began. */
export async function quickTurn(clock: Pick<Clock, "elapsed">): Promise<void> {
  await nextTurn();
  for (let turn = 0; turn < MOST_TURNS; turn++) {
    const begun = clock.elapsed();
    await nextTurn();
    if (clock.elapsed() - begun < SHORT_MS) return;
  }
}
