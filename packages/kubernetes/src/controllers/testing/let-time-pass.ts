// Turns of controllers whose time a test sets.

import type { Controller } from "@postern/apiserver/controllers/controller-port";
import type { ManualTime } from "@postern/apiserver/runtime/testing/manual-time";

type Idler = Pick<Controller, "idle">;

/** Enough for controllers that wait for what others write. */
const TURNS = 20;

/** Resolves when nothing more is written. */
export async function settled(controllers: readonly Idler[]): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) {
    for (const controller of controllers) await controller.idle();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Nothing is under way before the time, and after it. */
export async function letTimePass(
  controllers: readonly Idler[],
  time: Pick<ManualTime, "advance">,
  milliseconds: number,
): Promise<void> {
  await settled(controllers);
  time.advance(milliseconds);
  await settled(controllers);
}
