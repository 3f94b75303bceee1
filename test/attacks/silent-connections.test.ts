// Hundreds of silent connections: a client with a key is still served, and can revoke one.

import { fork } from "node:child_process";
import { once } from "node:events";
import { connect as connectTls } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AttackedServer, startAttackedServer } from "./testing/attacked-server.ts";
import { connectRawHttp2, FRAME, goawayOf } from "./testing/raw-http2.ts";
import { type Figures, measureGets, measureUnderAttack } from "./testing/well-behaved.ts";

const ATTACKER = new URL("./testing/silent-attacker.ts", import.meta.url).pathname;

let server: AttackedServer;
let baseline: Figures;

beforeAll(async () => {
  server = await startAttackedServer(["--max-stranger-connections", "400", "--stranger-timeout-seconds", "2"]);
  baseline = await measureGets(server, 2_000);
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function attackWith(kind: string, count: number): Promise<AsyncDisposable> {
  const child = fork(ATTACKER, [String(server.port), kind, String(count)], { execArgv: ["--import", "tsx"] });
  await once(child, "message");
  return {
    async [Symbol.asyncDispose]() {
      const exited = once(child, "exit");
      child.kill();
      await exited;
    },
  };
}

test.each([
  ["TCP connections that say nothing", "tcp", 700],
  ["TCP connections from two hundred addresses", "spread", 700],
  ["halves of a ClientHello", "hello", 700],
  ["TLS connections that say nothing", "http/1.1", 200],
  ["HTTP/2 connections that say nothing", "h2", 200],
])("%s delay no other client and no revocation (security book 49, 50)", async (attack, kind, count) => {
  const name = `weak-${kind.replaceAll(/[^a-z0-9]/g, "")}`;
  await server.newKey(name, { user: "attacker", scope: {} });
  await using _ = await attackWith(kind, count);
  expect(await measureUnderAttack(server, `${count} ${attack}`, baseline, name)).toEqual({ faults: [] });
});

test("a connection without a valid credential ends after a while, over HTTP/2 with a reason", async () => {
  using silent = await connectRawHttp2(server);
  const goaway = await silent.frame(({ type }) => type === FRAME.goaway);
  expect(goaway && goawayOf(goaway)).toEqual({ code: 11, reason: "no request with a valid credential" });
  await silent.closed;
  const { port, ca } = server;
  const http1 = connectTls({ host: "127.0.0.1", port, ca, ALPNProtocols: ["http/1.1"] });
  await once(http1, "secureConnect");
  http1.write("GET /version HTTP/1.1\r\nHost: x\r\n\r\n");
  http1.resume();
  await once(http1, "close");
});

test("a connection with a valid credential stays", async () => {
  using known = await connectRawHttp2(server);
  const get = () =>
    known.request(
      {
        ":method": "GET",
        ":scheme": "https",
        ":authority": "x",
        ":path": "/version",
        authorization: `Bearer ${server.good}`,
      },
      true,
    );
  const first = get();
  await known.frame(({ stream, type }) => stream === first && type === FRAME.headers);
  using silent = await connectRawHttp2(server);
  await silent.closed;
  const later = get();
  expect(await known.frame(({ stream, type }) => stream === later && type === FRAME.headers)).toBeDefined();
});
