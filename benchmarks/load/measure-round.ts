// One round of load on a server, with the processor time that it took.

import type { Round } from "../report/measurement.ts";
import { cpuSeconds, type MeasuredServer } from "../servers/measured-server.ts";
import type { Order } from "./order.ts";
import type { LoadGenerator } from "./start-load-generator.ts";

/** The server's processor time counts from the moment at which the load starts. */
export async function measureRound(generator: LoadGenerator, server: MeasuredServer, order: Order): Promise<Round> {
  let before: number | undefined;
  const report = await generator.run(order, () => {
    before = cpuSeconds(server);
  });
  const after = cpuSeconds(server);
  const used = before === undefined || after === undefined ? undefined : after - before;
  return { report, cpuMicroseconds: used === undefined ? undefined : (used / report.count) * 1e6 };
}
