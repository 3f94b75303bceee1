// The cost of authentication among few keys and among many.

import type { LoadReport } from "../load/order.ts";
import { runLoad } from "../load/run-load.ts";
import { median } from "../report/median.ts";
import { cpuSeconds, type MeasuredServer } from "../servers/measured-server.ts";

export type Authenticated = {
  readonly perSecond: number;
  /** Processor time of the server for each request, in µs. */
  readonly cpu: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
};

type Used = { readonly server: MeasuredServer; readonly tokens: readonly string[] };

const ROUNDS = 3;
const IN_FLIGHT_EACH = 2;

/** The median over rounds for each server. Rounds are interleaved, so that other load affects all alike. */
export async function compareAuthentication(all: readonly Used[], seconds: number): Promise<readonly Authenticated[]> {
  const rounds: Authenticated[][] = all.map(() => []);
  // The first round warms up.
  for (let round = -1; round < ROUNDS; round++) {
    for (const [at, used] of all.entries()) {
      const one = await authenticate(used, seconds);
      if (round >= 0) rounds[at]?.push(one);
    }
  }
  return rounds.map((measured) => ({
    perSecond: median(measured.map(({ perSecond }) => perSecond)),
    cpu: median(measured.map(({ cpu }) => cpu)),
    p50: median(measured.map(({ p50 }) => p50)),
    p99: median(measured.map(({ p99 }) => p99)),
  }));
}

/** Every connection has a key of its own. */
async function authenticate({ server, tokens }: Used, seconds: number): Promise<Authenticated> {
  const before = cpuSeconds(server) ?? Number.NaN;
  const reports = await Promise.all(tokens.map((token) => askWith(server, token, seconds)));
  const count = reports.reduce((sum, report) => sum + report.count, 0);
  return {
    perSecond: count / seconds,
    cpu: (((cpuSeconds(server) ?? Number.NaN) - before) * 1e6) / count,
    p50: median(reports.map(({ latencies }) => latencies.p50)),
    p99: median(reports.map(({ latencies }) => latencies.p99)),
  };
}

/** Requests something nearly free, so that authentication is what is measured. */
export async function askWith(server: MeasuredServer, token: string, seconds: number): Promise<LoadReport> {
  const report = await runLoad(
    {
      kind: "load",
      target: { ...server.target, token },
      protocol: "h1",
      inFlight: IN_FLIGHT_EACH,
      seconds,
      request: { method: "GET", path: "/version" },
    },
    () => {},
  );
  if (Object.keys(report.failures).length > 0) throw new Error(`refused: ${JSON.stringify(report.failures)}`);
  return report;
}
