// A thousand exchanges at once beside a thousand keys that are created: what they cost, and that nothing is left of them. Figures are printed
// and decide nothing.

import { readFile } from "node:fs/promises";
import { Agent } from "node:https";
import { githubClaims } from "@postern/platform/features/trust/testing/ci-claims";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Exchanging, startExchanging } from "../attacks/testing/exchanging.ts";

const COUNT = 1_000;
const AT_ONCE = 20;

let server: Exchanging;
beforeAll(async () => {
  server = await startExchanging(["--access-key-max-per-owner", "0"]);
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** In seconds. */
async function timed(
  work: (at: number) => Promise<unknown>,
): Promise<{ readonly wall: number; readonly processor: number }> {
  const [began, used] = [performance.now(), await processorSeconds()];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < COUNT) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { wall: (performance.now() - began) / 1000, processor: (await processorSeconds()) - used };
}

/** Of the server, in user and system mode. */
async function processorSeconds(): Promise<number> {
  const stat = await readFile(`/proc/${server.process.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

const countOf = async (path: string): Promise<number> => (await server.must({ path })).items.length;

test("a thousand exchanges cost about what a thousand keys do, and leave nothing", async () => {
  const tokens = await Promise.all(Array.from({ length: COUNT }, () => server.issuer.sign(githubClaims())));
  const before = await countOf("ownedaccesskeys");
  const statuses = new Set<number>();
  // As those that create keys, with connections that stay open: handshakes cost more than exchanges.
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  // Threads share what one address may exchange, and have not equally many of its connections.
  const exchanges = await timed(async (at) =>
    statuses.add((await server.exchange(tokens[at] ?? "", { rule: "main" }, `127.0.7.${1 + (at % 4)}`, agent)).status),
  );
  agent.destroy();
  expect([...statuses]).toEqual([200]);
  expect(await countOf("ownedaccesskeys")).toBe(before + COUNT);
  const creations = await timed((at) =>
    server.must({ path: "ownedaccesskeys", body: { metadata: { name: `made-${at}` }, spec: { user: "bot" } } }),
  );
  const shown = (name: string, { wall, processor }: typeof exchanges): string =>
    `${COUNT} ${name}: ${wall.toFixed(1)} s, ${processor.toFixed(1)} s of processor`;
  process.stderr.write(`${shown("exchanges", exchanges)}; ${shown("creations", creations)}\n`);
  await server.must({ method: "DELETE", path: "clustertrustrules/main" });
  await expect.poll(() => countOf("ownedaccesskeys"), { interval: 1_000 }).toBe(before + COUNT);
  const events = await server.must({ path: "/api/v1/events" });
  expect(events.items.filter(({ involvedObject }: any) => involvedObject.name.startsWith("main-"))).toEqual([]);
});
