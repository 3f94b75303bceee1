// The agent between a connection of the platform and an API server that records what it gets.

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { createForwarder, type Forwarder } from "./forward-requests.ts";

type Api = {
  readonly url: string;
  readonly received: () => string;
  readonly sockets: readonly Socket[];
  readonly close: () => void;
};

const ending: (() => void)[] = [];
afterEach(() => {
  for (const end of ending.splice(0)) end();
});

/** Answers each head with what `answer` returns. */
async function startApi(answer: (head: string, socket: Socket) => string): Promise<Api> {
  let received = "";
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      for (const head of chunk.toString("latin1").split("\r\n\r\n").slice(0, -1)) {
        const text = answer(head, socket);
        if (text !== "" && !socket.destroyed) socket.write(text);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  ending.push(close);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    sockets,
    close,
  };
}

/** Ends of connections to the agent. */
async function startAgent(server: string, token: () => Promise<string> = async () => "of-the-agent") {
  const forwarder = createForwarder({ transport: { server }, token });
  const front = createServer({ allowHalfOpen: true }, (socket) => forwarder.serve(socket)).listen(0, "127.0.0.1");
  await once(front, "listening");
  ending.push(() => {
    forwarder[Symbol.dispose]();
    front.close();
  });
  return {
    forwarder,
    open() {
      const socket = connect((front.address() as AddressInfo).port, "127.0.0.1");
      let text = "";
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        text += chunk;
      });
      ending.push(() => void socket.destroy());
      const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
      return { socket, text: () => text, closed };
    },
  } satisfies { forwarder: Forwarder; open: () => unknown };
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

it("each request gets the agent's credential, and no other", async () => {
  const api = await startApi(() => OK);
  let count = 0;
  const agent = await startAgent(`${api.url}/base/`, async () => `token-${++count}`);
  const { socket, text } = agent.open();
  const head =
    "GET /api HTTP/1.1\r\nHost: platform\r\nAuthorization: Bearer other\r\nImpersonate-Group: a\r\nimpersonate-group: b\r\n\r\n";
  socket.write(head + head);
  await expect.poll(text).toBe(OK + OK);
  const { host } = new URL(api.url);
  const sent = (token: string): string =>
    `GET /base/api HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\nImpersonate-Group: a\r\nimpersonate-group: b\r\n\r\n`;
  expect(api.received()).toBe(sent("token-1") + sent("token-2"));
  expect(agent.forwarder.counts).toEqual({ requests: 2, failures: 0, connections: 1 });
});

it("bytes behind a body in chunks never come with the credential, on a connection that ends behind its response", async () => {
  const api = await startApi(() => "");
  const agent = await startAgent(api.url);
  const { socket } = agent.open();
  socket.write(
    "POST /api HTTP/1.1\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /secrets HTTP/1.1\r\n\r\n",
  );
  await expect.poll(api.received).toContain("/secrets");
  expect(api.received().match(/^(?:authorization|connection): .*$/gim)).toEqual([
    "authorization: Bearer of-the-agent",
    "connection: close",
  ]);
});

it("what is no request ends the connection, and reaches nothing", async () => {
  const api = await startApi(() => OK);
  const agent = await startAgent(api.url);
  const { socket, closed } = agent.open();
  socket.write("GET http://other/ HTTP/1.1\r\nhost: other\r\n\r\n");
  await closed;
  expect(api.received()).toBe("");
  await expect.poll(() => agent.forwarder.counts.connections).toBe(0);
});

it("an API server that is away is a 503 that says so", async () => {
  const api = await startApi(() => OK);
  api.close();
  const agent = await startAgent(api.url);
  const { socket, text, closed } = agent.open();
  await new Promise((resolve) => setTimeout(resolve, 50));
  socket.write("GET /api HTTP/1.1\r\nhost: a\r\n\r\n");
  await expect.poll(text).toContain("ECONNREFUSED");
  expect(text()).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
  socket.end();
  await closed;
  expect(agent.forwarder.counts.failures).toBe(1);
});

it.each(["caller", "API server"])(
  "ends both connections when the %s goes in the middle of a response",
  async (side) => {
    const api = await startApi(() => "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart");
    const agent = await startAgent(api.url);
    const { socket, text, closed } = agent.open();
    socket.write("GET /api HTTP/1.1\r\nhost: a\r\n\r\n");
    await expect.poll(text).toContain("part");
    if (side === "caller") socket.destroy();
    else api.sockets[0]?.resetAndDestroy();
    await closed;
    await expect.poll(() => api.sockets[0]?.destroyed).toBe(true);
    await expect.poll(() => agent.forwarder.counts.connections).toBe(0);
  },
);

it("the last request on a connection says so while the agent stops", async () => {
  const api = await startApi(() => OK);
  const agent = await startAgent(api.url);
  agent.forwarder.drain();
  const { socket, text } = agent.open();
  socket.write("GET /api HTTP/1.1\r\nhost: a\r\nconnection: keep-alive\r\n\r\n");
  await expect.poll(text).toBe(OK);
  expect(api.received().match(/^connection: .*$/gim)).toEqual(["connection: close"]);
});

it("a caller that does not read holds the API server up", async () => {
  const much = Buffer.alloc(64 << 20);
  const api = await startApi((_head, socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${much.length}\r\n\r\n`);
    socket.write(much);
    return "";
  });
  const agent = await startAgent(api.url);
  const { socket } = agent.open();
  socket.write("GET /api HTTP/1.1\r\nhost: a\r\n\r\n");
  await once(socket, "data");
  socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(api.sockets[0]?.writableLength).toBeGreaterThan(32 << 20);
});
