// The weakest key there is sends slowly, reads slowly, or asks for too much: others go on working, and it can be revoked.

import { once } from "node:events";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type AttackedServer, startAttackedServer } from "./testing/attacked-server.ts";
import { connectRawHttp2, FRAME } from "./testing/raw-http2.ts";
import { type Figures, measureGets, measureUnderAttack } from "./testing/well-behaved.ts";

/** More than there are places for writes. */
const MANY = 230;
const REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
const OPENAPI = "/openapi/v2";

let server: AttackedServer;
let baseline: Figures;

beforeAll(async () => {
  server = await startAttackedServer();
  baseline = await measureGets(server, 2_000);
});
afterAll(() => server?.[Symbol.asyncDispose]());

async function openHttp1(): Promise<TLSSocket> {
  const socket = connectTls({ host: "127.0.0.1", port: server.port, ca: server.ca, ALPNProtocols: ["http/1.1"] });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return socket;
}

const head = (method: string, path: string, key: string, ...more: string[]): string =>
  [`${method} ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${key}`, ...more].join("\r\n");

const http2Head = (method: string, path: string, key: string) => ({
  ":method": method,
  ":scheme": "https",
  ":authority": "x",
  ":path": path,
  authorization: `Bearer ${key}`,
});

type Attack = (key: string) => Promise<Disposable>;

/** Ends with the sockets. */
function everySecond(sockets: readonly TLSSocket[], send: () => void): Disposable {
  const timer = setInterval(send, 1_000);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const socket of sockets) socket.destroy();
    },
  };
}

const onManyConnections = async (begin: (socket: TLSSocket) => void, rest: string): Promise<Disposable> => {
  const sockets: TLSSocket[] = [];
  for (let count = 0; count < MANY; count++) {
    const socket = await openHttp1();
    begin(socket);
    sockets.push(socket);
  }
  return everySecond(sockets, () => {
    if (rest !== "") for (const socket of sockets) socket.write(rest);
  });
};

const JSON_BODY = ["Content-Type: application/json", "Content-Length: 5000"];

const attacks: Readonly<Record<string, Attack>> = {
  "bodies that trickle in over HTTP/1.1": (key) =>
    onManyConnections((socket) => socket.write(`${head("POST", REVIEWS, key, ...JSON_BODY)}\r\n\r\n{`), " "),
  "bodies in chunks that trickle in": (key) =>
    onManyConnections((socket) => {
      const chunked = ["Content-Type: application/json", "Transfer-Encoding: chunked"];
      socket.write(`${head("POST", REVIEWS, key, ...chunked)}\r\n\r\n1\r\n{\r\n`);
    }, "1\r\n \r\n"),
  "bodies that trickle in over HTTP/2": async (key) => {
    const connection = await connectRawHttp2(server);
    const streams = Array.from({ length: MANY }, () =>
      connection.request({ ...http2Head("POST", REVIEWS, key), "content-type": "application/json" }, false),
    );
    return everySecond([connection.socket], () => {
      for (const stream of streams) connection.send(FRAME.data, 0, stream, Buffer.from(" "));
    });
  },
  "headers that trickle in": (key) =>
    onManyConnections((socket) => socket.write(`${head("GET", OPENAPI, key)}\r\nX: `), "y"),
  "large answers that nobody reads over HTTP/1.1": (key) =>
    onManyConnections((socket) => {
      socket.pause();
      socket.write(`${head("GET", OPENAPI, key)}\r\n\r\n`.repeat(4));
    }, ""),
  "large answers that nobody reads over HTTP/2": async (key) => {
    const connection = await connectRawHttp2(server, { initialWindowSize: 0 });
    for (let count = 0; count < MANY; count++) connection.request(http2Head("GET", OPENAPI, key), true);
    return everySecond([connection.socket], () => undefined);
  },
  "streams that are cancelled at once": async (key) => {
    const connection = await connectRawHttp2(server);
    const burst = (): void => {
      for (let count = 0; count < MANY; count++) {
        connection.send(FRAME.reset, 0, connection.request(http2Head("GET", OPENAPI, key), true), Buffer.alloc(4));
      }
    };
    const timer = setInterval(burst, 50);
    const attack = everySecond([connection.socket], () => undefined);
    return {
      [Symbol.dispose]() {
        clearInterval(timer);
        attack[Symbol.dispose]();
      },
    };
  },
};

test.each(Object.keys(attacks))("%s delay no other client and no revocation", async (attack) => {
  const name = `weak-${Object.keys(attacks).indexOf(attack)}`;
  const key = await server.newKey(name, { user: "attacker", scope: {} });
  using _ = await attacks[attack]?.(key);
  expect(await measureUnderAttack(server, attack, baseline, name)).toEqual({ faults: [] });
});
