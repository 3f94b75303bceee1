// The same work for each of several objects, one after the other: one that fails does not stop the others.

import { counted } from "../../texts/text.tsx";

/** Throws one error for all that failed, with the message of the first. */
export async function eachOf<T>(
  objects: readonly T[],
  work: (object: T) => Promise<unknown>,
  report: (done: number) => void,
): Promise<void> {
  let failed = 0;
  let first = "";
  for (const [done, object] of objects.entries()) {
    report(done);
    try {
      await work(object);
    } catch (error) {
      if (failed++ === 0) first = error instanceof Error ? error.message : String(error);
    }
  }
  if (failed > 0) throw new Error(counted("keys.bulk.failed", failed, { all: objects.length, message: first }));
}
