// A client that does nothing wrong while others do: how long its requests take, and whether they are answered at all.

import { once } from "node:events";
import { Agent, request } from "node:https";
import { API, type AttackedServer, KEYS } from "./attacked-server.ts";

export type Figures = {
  readonly requests: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  /** Errors, and answers other than successes, by how often. */
  readonly failures: Readonly<Record<string, number>>;
};

const GIVE_UP_MS = 5_000;
const PAUSE_MS = 5;

/** GETs of a key's own user one after the other, on a connection that is kept; each tenth over a new one, with a handshake of its own. */
export async function measureGets(server: AttackedServer, durationMs: number): Promise<Figures> {
  const kept = new Agent({ keepAlive: true, maxSockets: 1, ca: server.ca });
  const times: number[] = [];
  const failures: Record<string, number> = {};
  const end = performance.now() + durationMs;
  for (let count = 1; performance.now() < end; count++) {
    const fresh = count % 10 === 0 ? new Agent({ ca: server.ca }) : undefined;
    const startedAt = performance.now();
    const outcome = await get(server, fresh ?? kept);
    times.push(performance.now() - startedAt);
    fresh?.destroy();
    if (outcome !== "200") failures[outcome] = (failures[outcome] ?? 0) + 1;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  kept.destroy();
  times.sort((a, b) => a - b);
  const at = (part: number): number => round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
  return { requests: times.length, p50: at(0.5), p99: at(0.99), worst: at(1), failures };
}

async function get({ url, good }: AttackedServer, agent: Agent): Promise<string> {
  const sent = request(`${url}${API}/users/good`, {
    agent,
    headers: { authorization: `Bearer ${good}` },
    signal: AbortSignal.timeout(GIVE_UP_MS),
  });
  sent.end();
  try {
    const [response] = await once(sent, "response");
    response.resume();
    await once(response, "end");
    return String(response.statusCode);
  } catch (error) {
    return error instanceof Error ? ("code" in error && String(error.code)) || error.name : String(error);
  }
}

type Answered = {
  readonly status: number | string;
  /** Milliseconds until it was answered. */
  readonly took: number;
};

/** Over a new connection. */
async function answered(ask: () => Promise<{ readonly status: number }>): Promise<Answered> {
  const startedAt = performance.now();
  const status = await ask().then(
    (answer) => answer.status,
    (error: Error) => error.message,
  );
  return { status, took: round(performance.now() - startedAt) };
}

const revoke = ({ send, admin }: AttackedServer, name: string): Promise<Answered> =>
  answered(() => send(`${KEYS}/${name}`, { key: admin, method: "DELETE" }));

/** A write like any other: it has no place of its own among those that are worked on, as a revocation has. */
const write = ({ send, good }: AttackedServer): Promise<Answered> =>
  answered(() => send(REVIEWS, { key: good, body: { spec: { nonResourceAttributes: { path: "/", verb: "get" } } } }));

const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

const round = (milliseconds: number): number => Math.round(milliseconds * 10) / 10;

const inWords = ({ requests, p50, p99, worst, failures }: Figures): string =>
  `${requests} GETs, p50 ${p50} ms, p99 ${p99} ms, worst ${worst} ms, failures ${JSON.stringify(failures)}`;

/** How many times slower than without an attack a request may be: the machine has other work, too. */
const SLOWER = 10;
/** Fast enough, whatever the baseline was. */
const FAST_MS = 100;
/** One stall of a busy machine is the whole p99 of some hundred requests, so that it is printed, and only bounded far off. */
const FAR_MS = 3_000;

/** Measures the client, a write of its and a revocation during an attack that goes on, prints both, and says what is wrong with them. */
export async function measureUnderAttack(
  server: AttackedServer,
  attack: string,
  baseline: Figures,
  victim: string,
): Promise<{ readonly faults: readonly string[] }> {
  const figures = await measureGets(server, 2_000);
  const written = await write(server);
  const revocation = await revoke(server, victim);
  process.stdout.write(
    `${attack}: ${inWords(figures)}; before: p50 ${baseline.p50} ms, p99 ${baseline.p99} ms; written in ${written.took} ms, revoked in ${revocation.took} ms\n`,
  );
  const faults: string[] = [];
  if (Object.keys(figures.failures).length > 0) faults.push(`requests failed: ${JSON.stringify(figures.failures)}`);
  if (figures.p50 > Math.max(FAST_MS, SLOWER * baseline.p50)) faults.push(`p50 ${figures.p50} ms`);
  if (figures.p99 > Math.max(FAR_MS, SLOWER * baseline.p99)) faults.push(`p99 ${figures.p99} ms`);
  if (written.status !== 201) faults.push(`write: ${written.status}`);
  if (written.took > FAR_MS) faults.push(`written in ${written.took} ms`);
  if (revocation.status !== 200) faults.push(`revocation: ${revocation.status}`);
  // The aim is one second.
  if (revocation.took > FAR_MS) faults.push(`revoked in ${revocation.took} ms`);
  return { faults };
}
