// Fills a server with the objects that the scenarios read.

import type { LoadGenerator } from "../load/start-load-generator.ts";
import { accessKeyBody, COLLECTION } from "./access-key-object.ts";
import type { MeasuredServer } from "./measured-server.ts";

const IN_FLIGHT = 64;

/** Creates the objects `key-<first>` and so on, of a hundred teams: the last two digits of the number. Those of an earlier run may exist. */
export async function fillServer(
  generator: LoadGenerator,
  { target }: MeasuredServer,
  { first = 0, count }: { readonly first?: number; readonly count: number },
): Promise<void> {
  const report = await generator.run({
    kind: "load",
    target,
    protocol: "h2",
    inFlight: IN_FLIGHT,
    seconds: Number.MAX_SAFE_INTEGER,
    requests: count,
    request: { method: "POST", path: COLLECTION, body: accessKeyBody("{n%100}"), firstNumber: first },
  });
  const failed = Object.keys(report.failures).filter((status) => status !== "409");
  if (failed.length > 0) throw new Error(`filling the server failed: ${JSON.stringify(report.failures)}`);
}
