// Keeps a server busy with one kind of request.

import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClientRequest, type Lane, openClient } from "./client.ts";
import { latenciesOf } from "./latencies.ts";
import type { LoadOrder, LoadReport, RequestPattern } from "./order.ts";

export async function runLoad(order: LoadOrder, onStarted: () => void): Promise<LoadReport> {
  using client = await openClient(order.target, order.protocol, order.inFlight);
  const next = requestsOf(order.request);
  const latencies: number[] = [];
  const failures: { [status: string]: number } = {};
  const { requests: limit = Number.POSITIVE_INFINITY, atLeast = 0, perSecond = Number.POSITIVE_INFINITY } = order;
  let sent = 0;
  let bytes = 0;
  onStarted();
  const startedAt = performance.now();
  const endsAt = startedAt + order.seconds * 1_000;
  const work = async (lane: Lane): Promise<void> => {
    while (sent < limit && (sent < atLeast || performance.now() < endsAt)) {
      const waitMs = startedAt + (sent * 1_000) / perSecond - performance.now();
      sent++;
      if (waitMs > 0) await sleep(waitMs);
      const before = performance.now();
      const response = await lane.send(next());
      latencies.push(performance.now() - before);
      bytes += response.bytes;
      if (response.status >= 300) failures[response.status] = (failures[response.status] ?? 0) + 1;
    }
  };
  await Promise.all(client.lanes.map(work));
  const seconds = (performance.now() - startedAt) / 1_000;
  return { count: latencies.length, seconds, bytes, latencies: latenciesOf(latencies), failures };
}

/** The requests of a pattern, one after the other. */
export function requestsOf(pattern: RequestPattern): () => ClientRequest {
  const { method, path, contentType, body, firstNumber = 0, numbers = Number.MAX_SAFE_INTEGER } = pattern;
  let made = 0;
  return () => {
    const number = firstNumber + (made++ % numbers);
    const filled = (text: string): string =>
      text.replaceAll("{n}", String(number)).replace("{n%100}", String(number % 100));
    return { method, path: filled(path), contentType, body: body === undefined ? undefined : filled(body) };
  };
}
