// How fast expired keys are deleted: many that expire at one moment, and those created as fast as the server can.

import { performance } from "node:perf_hooks";
import { runLoad } from "../load/run-load.ts";
import { median } from "../report/median.ts";
import { COLLECTION } from "../servers/access-key-object.ts";
import { askText } from "../servers/ask-text.ts";
import type { Postern } from "../servers/start-postern.ts";
import { askWith } from "./authentication.ts";

export type ReapedAtOnce = {
  /** From their expiration until the last of them is deleted. */
  readonly seconds: number;
  /** Milliseconds of requests during that time. */
  readonly p50: number;
  readonly p99: number;
  readonly slowest: number;
};

/** `endsAt`: milliseconds since the epoch. The server has keys whose names begin with `ending-`. */
export async function reapAtOnce(server: Postern, token: string, endsAt: number): Promise<ReapedAtOnce> {
  await waitMilliseconds(endsAt - Date.now());
  const started = performance.now();
  const latencies: { p50: number; p99: number; max: number }[] = [];
  for (;;) {
    latencies.push((await askWith(server, token, 1)).latencies);
    // Their names sort before nearly all others.
    const { items } = JSON.parse(await askText(server.target, "GET", `${COLLECTION}?limit=10`));
    if (!items.some(({ metadata }: Named) => metadata.name.startsWith("ending-"))) break;
  }
  return {
    seconds: (performance.now() - started) / 1000,
    p50: median(latencies.map(({ p50 }) => p50)),
    p99: median(latencies.map(({ p99 }) => p99)),
    slowest: Math.max(...latencies.map(({ max }) => max)),
  };
}

export type Turnover = {
  readonly created: number;
  readonly createdPerSecond: number;
  /** While keys were created; the first of them had to expire before. */
  readonly removedPerSecond: number;
  /** How long keys existed after their expiration: maximum and median of the samples. */
  readonly longestSeconds: number;
  readonly medianSeconds: number;
  /** From the expiration of the last key until none is left. */
  readonly secondsUntilGone: number;
};

const TTL_SECONDS = 5;
const IN_FLIGHT = 64;
/** So that names sort in the order of creation. */
const FIRST_NUMBER = 1_000_000_000;

/** Keys with a TTL of five seconds, created as fast as possible: they have to be deleted at least as fast. */
export async function turnOver(server: Postern, seconds: number, sample: (text: string) => void): Promise<Turnover> {
  const body = JSON.stringify({ metadata: { name: "brief-{n}" }, spec: { ttl: TTL_SECONDS } });
  const before = (await lookAt(server)).keys;
  const waits: number[] = [];
  let isLoading = true;
  const load = runLoad(
    {
      kind: "load",
      target: server.target,
      protocol: "h1",
      inFlight: IN_FLIGHT,
      seconds,
      request: { method: "POST", path: COLLECTION, body, firstNumber: FIRST_NUMBER },
    },
    () => {},
  ).finally(() => {
    isLoading = false;
  });
  while (isLoading) {
    const { keys, oldestMs } = await lookAt(server);
    const wait = Math.max(0, (oldestMs ?? 0) / 1000 - TTL_SECONDS);
    waits.push(wait);
    sample(`${keys - before} are there, the oldest has ended ${wait.toFixed(1)} s ago`);
    await waitMilliseconds(1000);
  }
  const { count, failures } = await load;
  if (Object.keys(failures).length > 0) throw new Error(`refused: ${JSON.stringify(failures)}`);
  const removed = count - ((await lookAt(server)).keys - before);
  await waitMilliseconds(TTL_SECONDS * 1000);
  const ended = performance.now();
  while ((await lookAt(server)).keys > before) await waitMilliseconds(200);
  return {
    created: count,
    createdPerSecond: count / seconds,
    removedPerSecond: removed / (seconds - TTL_SECONDS),
    longestSeconds: Math.max(...waits),
    medianSeconds: median(waits),
    secondsUntilGone: (performance.now() - ended) / 1000,
  };
}

/** The number of keys, and the age of the oldest one that was created for this. */
async function lookAt({ target }: Postern): Promise<{ readonly keys: number; readonly oldestMs: number | undefined }> {
  const { items, metadata } = JSON.parse(await askText(target, "GET", `${COLLECTION}?limit=5`));
  const brief = items.find((item: Named) => item.metadata.name.startsWith("brief-"))?.metadata.creationTimestamp;
  return {
    keys: items.length + (metadata.remainingItemCount ?? 0),
    oldestMs: brief === undefined ? undefined : Date.now() - Date.parse(brief),
  };
}

type Named = { readonly metadata: { readonly name: string } };

const waitMilliseconds = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, milliseconds)));
