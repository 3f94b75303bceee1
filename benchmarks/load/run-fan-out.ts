// Opens many watches, changes objects, and counts received events.

import type { ClientHttp2Session } from "node:http2";
import { performance } from "node:perf_hooks";
import { openClient } from "./client.ts";
import { openHttp2Session } from "./http2-lanes.ts";
import { latenciesOf } from "./latencies.ts";
import type { FanOutOrder, HoldOrder, LoadReport } from "./order.ts";
import { requestsOf } from "./run-load.ts";

const NEWLINE = 0x0a;
/** Precedes the time at which an event's write was sent. */
const SENT_AT = "sent-at-";
/** After this long without an event, no more are expected. */
const SILENCE_MS = 10_000;
/** Parsing the time out of every line would cost more than delivering it. */
const TIMED_ONE_IN = 50;
const OPENED_AT_ONCE = 200;

export async function runFanOut(order: FanOutOrder, onStarted: () => void): Promise<LoadReport> {
  const { target, watchers, connections, path, writes, writesInFlight } = order;
  const sessions = await Promise.all(Array.from({ length: connections }, () => openHttp2Session(target)));
  using writer = await openClient(target, "h2", writesInFlight);
  const delays: number[] = [];
  const failures: { [status: string]: number } = {};
  const expected = watchers * writes;
  let delivered = 0;
  let bytes = 0;
  try {
    const arrived = withResolvers();
    let silence: NodeJS.Timeout | undefined;
    const take = (chunk: Buffer, timed: boolean): void => {
      silence?.refresh();
      bytes += chunk.length;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) delivered++;
      if (timed) delays.push(...delaysIn(chunk));
      if (delivered >= expected) arrived.resolve();
    };
    await Promise.all(
      Array.from({ length: watchers }, (_, index) => {
        // The index is within the list.
        const session = sessions[index % sessions.length] as ClientHttp2Session;
        return openWatch(session, path, target.token, (chunk) => take(chunk, index % TIMED_ONE_IN === 0));
      }),
    );
    const next = requestsOf(order.write);
    onStarted();
    const startedAt = performance.now();
    let sent = 0;
    const write = async (lane: (typeof writer.lanes)[number]): Promise<void> => {
      while (sent++ < writes) {
        const request = next();
        const body = request.body?.replace("{t}", `${SENT_AT}${Date.now()}`);
        const { status } = await lane.send({ ...request, body });
        if (status >= 300) failures[status] = (failures[status] ?? 0) + 1;
      }
    };
    await Promise.all(writer.lanes.map(write));
    silence = setTimeout(arrived.resolve, SILENCE_MS);
    if (Object.keys(failures).length === 0) await arrived.promise;
    clearTimeout(silence);
    if (delivered < expected) failures["not told"] = expected - delivered;
    const silentMs = delivered < expected ? SILENCE_MS : 0;
    const seconds = (performance.now() - startedAt - silentMs) / 1_000;
    return { count: delivered, seconds, bytes, latencies: latenciesOf(delays), failures };
  } finally {
    for (const session of sessions) session.destroy();
  }
}

/** Opens watches without a writer, and holds them. */
export async function runHold(order: HoldOrder, onStarted: () => void): Promise<never> {
  const { target, watchers, connections, path } = order;
  const sessions = await Promise.all(Array.from({ length: connections }, () => openHttp2Session(target)));
  for (let first = 0; first < watchers; first += OPENED_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(OPENED_AT_ONCE, watchers - first) }, (_, at) => first + at);
    await Promise.all(
      numbers.map((number) => {
        // The index is within the list.
        const session = sessions[number % sessions.length] as ClientHttp2Session;
        return openWatch(session, path.replace("{n}", String(number)), target.token, () => undefined);
      }),
    );
  }
  onStarted();
  return await new Promise(() => undefined);
}

/** Resolves when the watch has started. */
function openWatch(
  session: ClientHttp2Session,
  path: string,
  token: string,
  take: (chunk: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, authorization: `Bearer ${token}` });
    stream.on("error", reject);
    stream.on("data", take);
    stream.on("response", (headers) => {
      if (headers[":status"] === 200) resolve();
      else reject(new Error(`a watch was answered with ${headers[":status"]}`));
    });
  });
}

function* delaysIn(chunk: Buffer): Iterable<number> {
  const now = Date.now();
  for (let at = chunk.indexOf(SENT_AT); at >= 0; at = chunk.indexOf(SENT_AT, at + 1)) {
    const time = Number.parseInt(chunk.toString("latin1", at + SENT_AT.length, at + SENT_AT.length + 13), 10);
    if (!Number.isNaN(time)) yield now - time;
  }
}

/** Node 20 has no Promise.withResolvers yet. */
function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
