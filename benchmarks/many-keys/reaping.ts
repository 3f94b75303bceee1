// How fast keys whose life is over are removed: many that end in one moment, and those that are made as fast as the server makes them.

import { performance } from "node:perf_hooks";
import { runLoad } from "../load/run-load.ts";
import { COLLECTION } from "../servers/access-key-object.ts";
import { askText } from "../servers/ask-text.ts";
import type { Postern } from "../servers/start-postern.ts";
import { askWith } from "./authentication.ts";
import { median } from "./median.ts";

export type ReapedAtOnce = {
  /** From the end of the keys until the last of them is gone. */
  readonly seconds: number;
  /** Milliseconds of requests that came meanwhile. */
  readonly p50: number;
  readonly p99: number;
  readonly slowest: number;
};

/** `endsAt`: milliseconds since the epoch; the server is that of keys whose names begin with `ending-`. */
export async function reapAtOnce(server: Postern, token: string, endsAt: number): Promise<ReapedAtOnce> {
  await waitMilliseconds(endsAt - Date.now());
  const started = performance.now();
  const latencies: { p50: number; p99: number; max: number }[] = [];
  for (;;) {
    latencies.push((await askWith(server, token, 1)).latencies);
    // Their names stand before nearly all others.
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
  readonly removedPerSecond: number;
  /** Keys whose life was over and that were still there, at the worst moment, and when the last one was made. */
  readonly mostEnded: number;
  readonly endedAtStop: number;
  /** From the end of the last key's life until none is left. */
  readonly secondsUntilGone: number;
};

const TTL_SECONDS = 5;
const IN_FLIGHT = 64;

/** Keys that live for five seconds, made as fast as they can be for `seconds`: no slower than that may they go. */
export async function turnOver(server: Postern, seconds: number, sample: (text: string) => void): Promise<Turnover> {
  const body = JSON.stringify({ metadata: { name: "brief-{n}" }, spec: { ttl: TTL_SECONDS } });
  const before = await countKeys(server);
  const created: number[] = [];
  let [mostEnded, endedAtStop] = [0, 0];
  const startedAt = performance.now();
  let total = 0;
  // Second by second, so that it is known how many have ended.
  while (performance.now() - startedAt < seconds * 1000) {
    const { count, failures } = await runLoad(
      {
        kind: "load",
        target: server.target,
        protocol: "h1",
        inFlight: IN_FLIGHT,
        seconds: 1,
        request: { method: "POST", path: COLLECTION, body, firstNumber: total },
      },
      () => {},
    );
    if (Object.keys(failures).length > 0) throw new Error(`refused: ${JSON.stringify(failures)}`);
    created.push(count);
    total += count;
    const living = created.slice(-TTL_SECONDS).reduce((sum, each) => sum + each, 0);
    endedAtStop = Math.max(0, (await countKeys(server)) - before - living);
    mostEnded = Math.max(mostEnded, endedAtStop);
    sample(`${created.length} s: ${count} made, ${endedAtStop} have ended and are there`);
  }
  const tookSeconds = (performance.now() - startedAt) / 1000;
  const removedMeanwhile = total - ((await countKeys(server)) - before);
  await waitMilliseconds(TTL_SECONDS * 1000);
  const ended = performance.now();
  while ((await countKeys(server)) > before) await waitMilliseconds(200);
  return {
    created: total,
    createdPerSecond: total / tookSeconds,
    removedPerSecond: removedMeanwhile / (tookSeconds - TTL_SECONDS),
    mostEnded,
    endedAtStop,
    secondsUntilGone: (performance.now() - ended) / 1000,
  };
}

async function countKeys({ target }: Postern): Promise<number> {
  const { items, metadata } = JSON.parse(await askText(target, "GET", `${COLLECTION}?limit=1`));
  return items.length + (metadata.remainingItemCount ?? 0);
}

type Named = { readonly metadata: { readonly name: string } };

const waitMilliseconds = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, milliseconds)));
