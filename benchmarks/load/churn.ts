// Creates, changes and deletes objects all the time while they are watched.

import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { performance } from "node:perf_hooks";
import { openHttp2Session, sendOn } from "./http2-lanes.ts";
import type { Target } from "./order.ts";

/** The lifecycle of one object: `{n}` in its texts is its number. */
export type ChurnKind = {
  /** The owner of the token in requests. */
  readonly target: Target;
  readonly collection: string;
  readonly name: string;
  readonly body: string;
  readonly change: string;
  /** Lifecycles started per second. */
  readonly perSecond: number;
};

export type Churn = AsyncDisposable & {
  /** Ended lifecycles, failed requests by status, and events that the watches received. */
  readonly counts: { lives: number; events: number; readonly failures: { [status: string]: number } };
  /** The longest request since the last call, in milliseconds. */
  longestWait(): number;
  /** Starts no further lifecycle; resolves when all have ended. */
  end(): Promise<void>;
};

export type ChurnOptions = {
  readonly kinds: readonly ChurnKind[];
  readonly watches: number;
  readonly connections: number;
  /** How long each object stays unchanged, and then stays changed. */
  readonly pauseMs: number;
};

const NEWLINE = 0x0a;
const TICK_MS = 20;
const TOO_MANY = 429;
/** RFC 9113, section 8.7: the server did not process it. */
const NOT_TAKEN = /NGHTTP2_REFUSED_STREAM/;
const RETRY_MS = 1_000;
/** The maximum number of concurrent lifecycles, in case the server is slower than they start. */
const MAX_LIVES = 1_000;

/** Watches use connections of their own, lifecycles share two. */
export async function startChurn({ kinds, watches, connections, pauseMs }: ChurnOptions): Promise<Churn> {
  const [first] = kinds;
  if (first === undefined) throw new RangeError("nothing lives");
  const sessions = await Promise.all(Array.from({ length: connections }, () => openHttp2Session(first.target)));
  const writers = await Promise.all(Array.from({ length: 2 }, () => openHttp2Session(first.target)));
  const counts = { lives: 0, events: 0, failures: {} as { [status: string]: number } };
  let longest = 0;
  let started = 0;
  let isOver = false;
  const living = new Set<Promise<void>>();
  const at = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

  const send = async (kind: ChurnKind, number: number, method: string, path: string, body?: string): Promise<void> => {
    const before = performance.now();
    const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const request = { method, path, contentType, body };
    const status = await sendOn(at(writers, number), request, kind.target.token).then(
      (response) => response.status,
      (error: Error) => {
        if (!NOT_TAKEN.test(error.message)) throw error;
        return TOO_MANY;
      },
    );
    longest = Math.max(longest, performance.now() - before);
    if (status === TOO_MANY) {
      // As clients do; a busy server asks for it.
      await pause(RETRY_MS);
      return await send(kind, number, method, path, body);
    }
    if (status >= 300) counts.failures[status] = (counts.failures[status] ?? 0) + 1;
  };
  const live = async (kind: ChurnKind, number: number): Promise<void> => {
    const filled = (text: string): string => text.replaceAll("{n}", String(number));
    const path = `${kind.collection}/${filled(kind.name)}`;
    await send(kind, number, "POST", kind.collection, filled(kind.body));
    await pause(pauseMs);
    await send(kind, number, "PATCH", path, filled(kind.change));
    await pause(pauseMs);
    await send(kind, number, "DELETE", path);
    counts.lives++;
  };
  const streams = await Promise.all(
    Array.from({ length: watches }, (_, index) =>
      openWatch(at(sessions, index), at(kinds, index), (events) => {
        counts.events += events;
      }),
    ),
  );
  const startedAt = performance.now();
  const begun = kinds.map(() => 0);
  const timer = setInterval(() => {
    const seconds = (performance.now() - startedAt) / 1_000;
    for (const [index, kind] of kinds.entries()) {
      while ((begun[index] ?? 0) < seconds * kind.perSecond && living.size < MAX_LIVES && !isOver) {
        begun[index] = (begun[index] ?? 0) + 1;
        const life = live(kind, started++).finally(() => living.delete(life));
        living.add(life);
      }
    }
  }, TICK_MS);
  return {
    counts,
    longestWait() {
      const result = longest;
      longest = 0;
      return result;
    },
    async end() {
      isOver = true;
      clearInterval(timer);
      await Promise.all(living);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      for (const stream of streams) stream.close();
      for (const session of [...sessions, ...writers]) session.destroy();
    },
  };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function openWatch(
  session: ClientHttp2Session,
  { collection, target }: ChurnKind,
  told: (events: number) => void,
): Promise<ClientHttp2Stream> {
  return new Promise((resolve, reject) => {
    const path = `${collection}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan`;
    const stream = session.request({ ":path": path, authorization: `Bearer ${target.token}` });
    stream.on("error", reject);
    stream.on("data", (chunk: Buffer) => {
      let events = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) events++;
      told(events);
    });
    stream.on("response", (headers) => {
      if (headers[":status"] === 200) resolve(stream);
      else reject(new Error(`a watch was answered with ${headers[":status"]}`));
    });
  });
}
