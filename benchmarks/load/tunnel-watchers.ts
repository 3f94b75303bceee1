// Watches of many clusters in one process, over HTTP/2.

import { type ClientHttp2Session, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { takeOrders } from "./fork-worker.ts";
import type { Target } from "./order.ts";

export type WatchersOrder =
  /** Opens watches; `{n}` in the path is a number below `clusters`. */
  | {
      readonly kind: "open";
      readonly target: Target;
      readonly path: string;
      readonly watches: number;
      readonly clusters: number;
    }
  /** Waits for so many more events than at the end of the order before. */
  | { readonly kind: "receive"; readonly events: number };

/** Of one connection: the server takes no more streams. */
const STREAMS = 90;
const NEWLINE = 0x0a;
const LOOKED_MS = 20;

let received = 0;
let expected = 0;

takeOrders<WatchersOrder>(async (order) => {
  if (order.kind === "receive") {
    expected += order.events;
    while (received < expected) await sleep(LOOKED_MS);
    return;
  }
  const { target, path, watches, clusters } = order;
  for (let from = 0; from < watches; from += STREAMS) {
    const session = connect(target.url, { ...(target.ca === undefined ? {} : { ca: target.ca }) });
    const those = Array.from({ length: Math.min(STREAMS, watches - from) }, (_, at) => from + at);
    await Promise.all(those.map((at) => open(session, path.replace("{n}", String(at % clusters)), target.token)));
  }
});

/** Resolves when the watch has begun. */
function open(session: ClientHttp2Session, path: string, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, authorization: `Bearer ${token}` });
    stream.on("error", reject);
    stream.once("response", ({ ":status": status }) => {
      if (status === 200) resolve();
      else reject(new Error(`a watch was answered with ${status}`));
    });
    stream.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) received += 1;
    });
  });
}
