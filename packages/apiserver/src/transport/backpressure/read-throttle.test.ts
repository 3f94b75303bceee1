import { once } from "node:events";
import type { TLSSocket } from "node:tls";
import { expect, it, onTestFinished } from "vitest";
import { serverCertificate } from "../testing/serve-handler.ts";
import { http2, openHttp2 } from "../testing/test-clients.ts";
import { createTlsServer } from "../tls/secure-server.ts";
import { DEFAULT_TRANSPORT_LIMITS } from "../transport-limits.ts";
import { createReadThrottle, type ReadConnection } from "./read-throttle.ts";

/** A real server of HTTP/2 that answers 200, and its side of a new connection. */
async function connections() {
  const server = createTlsServer(serverCertificate, DEFAULT_TRANSPORT_LIMITS);
  const paths: string[] = [];
  server.on("stream", (stream, headers) => {
    paths.push(headers[":path"] ?? "");
    stream.respond({ ":status": 200 }, { endStream: true });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  const connect = async () => {
    const accepted = once(server, "secureConnection");
    const session = openHttp2(port);
    onTestFinished(() => session.destroy());
    const [socket] = (await accepted) as [TLSSocket];
    await http2(session, { ":path": "/first" });
    return { session, socket };
  };
  return { server, paths, connect };
}

it("nothing is read of a connection that is stopped (security book 48)", async () => {
  const { paths, connect } = await connections();
  const [flooding, other] = [await connect(), await connect()];
  createReadThrottle().join(flooding.socket).stop();
  const never = flooding.session.request({ ":path": "/flood" });
  never.on("error", () => undefined);
  for (let times = 0; times < 5; times++) await http2(other.session, { ":path": "/other" });
  expect(paths).not.toContain("/flood");
});

/**
 * Connections of one source, of which each opens `streams` in every turn in which it is read, and which of them are read in each turn. At the end of each
 * turn `started` of the streams start.
 */
async function readInEachTurn(
  streams: readonly number[],
  turns: number,
  { what = "opened", started = 1_000 }: { readonly what?: "opened" | "lost"; readonly started?: number } = {},
) {
  const { join } = createReadThrottle();
  const isRead = streams.map(() => true);
  const connections = streams.map((_, number) => {
    const set = (value: boolean) => () => {
      isRead[number] = value;
    };
    return join({ _handle: { readStop: set(false), readStart: set(true) } } as unknown as TLSSocket);
  });
  const seen: string[] = [];
  const waiting: ReadConnection[] = [];
  for (let turn = 0; turn < turns; turn++) {
    seen.push(isRead.map((is) => (is ? "x" : "-")).join(""));
    for (const [number, connection] of connections.entries())
      if (isRead[number])
        for (let each = 0; each < (streams[number] ?? 0); each++) {
          connection[what]();
          waiting.push(connection);
        }
    for (const connection of waiting.splice(0, started)) connection.started();
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const connection of connections) connection[Symbol.dispose]();
  return seen;
}

it("of many busy connections one is read in each turn of the event loop (security book 48)", async () => {
  expect(await readInEachTurn([200, 200, 200], 6)).toEqual(["xxx", "x--", "-x-", "--x", "x--", "-x-"]);
});

it("of many connections whose streams end without an answer one is read in each turn as well (security book 48)", async () => {
  expect(await readInEachTurn([200, 200, 200], 4, { what: "lost" })).toEqual(["xxx", "x--", "-x-", "--x"]);
});

it("connections that bring little are soon read again (security book 48)", async () => {
  expect(await readInEachTurn([1, 1, 129, 1, 1, 1, 1], 4)).toEqual(["xxxxxxx", "x------", "xxx----", "---x---"]);
  expect(await readInEachTurn([1, 1, 1, 20, 20], 3)).toEqual(["xxxxx", "xxxxx", "xxxxx"]);
});

it("of many connections none is read while many streams wait to start (security book 48)", async () => {
  const turns = ["xxx", "---", "x--", "---", "---", "-x-", "---", "---", "--x"];
  expect(await readInEachTurn([150, 150, 150], 9, { started: 50 })).toEqual(turns);
  expect(await readInEachTurn([20, 20, 20], 4, { started: 10 })).toEqual(["xxx", "xxx", "x--", "---"]);
});

it("a connection that is held is not read when its session has written (security book 48)", async () => {
  const { server, paths, connect } = await connections();
  const { join } = createReadThrottle();
  const [held, other] = [await connect(), await connect()];
  const connection = join(held.socket);
  const answers: (() => void)[] = [];
  server.removeAllListeners("stream");
  server.on("stream", (stream, headers) => {
    paths.push(headers[":path"] ?? "");
    const answer = () => stream.respond({ ":status": 200 }, { endStream: true });
    if (headers[":path"] === "/early") answers.push(answer);
    else answer();
  });
  const early = http2(held.session, { ":path": "/early" });
  await expect.poll(() => answers).toHaveLength(1);
  for (let each = 0; each < 65; each++) connection.opened();
  const late = http2(held.session, { ":path": "/late" });
  for (const answer of answers) answer();
  await early;
  for (let times = 0; times < 5; times++) await http2(other.session, { ":path": "/other" });
  expect(paths).not.toContain("/late");
  for (let each = 0; each < 65; each++) connection.started();
  expect((await late).status).toBe(200);
});

it("a connection that is held is read on, and by its user's right once that is known (security book 48)", async () => {
  const { connect } = await connections();
  const { join } = createReadThrottle();
  const all = [await connect(), await connect(), await connect()];
  const [first, second] = all.map(({ socket }) => join(socket));
  for (let each = 0; each < 200; each++) first?.opened();
  second?.know("good");
  for (let each = 0; each < 200; each++) first?.started();
  const answers = await Promise.all(all.map(({ session }) => http2(session, { ":path": "/held" })));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
});
