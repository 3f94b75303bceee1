// Threads that work for one tenant leave the processors to those that serve all clients.

import { getPriority, setPriority } from "node:os";

/** As in `nice`: where both want a processor, such a thread has about a tenth of the time of another one. */
export const BEHIND = 10;
const LEAST = 19;

/** Puts the thread that calls it behind the first thread of the process. On Linux alone: elsewhere a priority is that of the whole process. */
export function giveWay(): void {
  if (process.platform !== "linux") return;
  try {
    setPriority(0, Math.min(LEAST, getPriority(process.pid) + BEHIND));
  } catch {
    // A sandbox may forbid it. The thread then has its turn with all others.
  }
}
