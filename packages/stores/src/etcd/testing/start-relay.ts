// The way to an etcd, which tests can break, lead elsewhere, and let nothing come back on.

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** `to` is `host:port`, and so is the endpoint that the way begins at. */
export async function startRelay(to: string) {
  let target: string | undefined = to;
  let isHolding = false;
  const ways = new Set<{ readonly near: Socket; readonly far: Socket }>();
  const server = createServer((near) => {
    if (target === undefined) {
      near.on("error", () => {}).destroy();
      return;
    }
    const [host = "", port = ""] = target.split(":");
    const way = { near, far: connect(Number(port), host) };
    ways.add(way);
    for (const socket of [way.near, way.far]) socket.on("error", () => {}).on("close", () => ways.delete(way));
    near.pipe(way.far);
    if (!isHolding) way.far.pipe(near);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const breakAll = () => {
    for (const { near, far } of ways) for (const socket of [near, far]) socket.destroy();
  };
  return {
    endpoint: `127.0.0.1:${typeof address === "object" ? address?.port : 0}`,
    break() {
      target = undefined;
      breakAll();
    },
    mend(next: string) {
      target = next;
    },
    /** Questions still get there, and no answer comes back. */
    holdAnswers() {
      isHolding = true;
      for (const { near, far } of ways) far.unpipe(near);
    },
    releaseAnswers() {
      isHolding = false;
      for (const { near, far } of ways) far.pipe(near);
    },
    [Symbol.dispose]() {
      breakAll();
      server.close();
    },
  };
}
