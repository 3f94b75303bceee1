import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import type { TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { jsonResponse } from "../api-response.ts";
import { serveHandler, streamResponse } from "../testing/serve-handler.ts";
import { http1, openHttp2, openTls, readAll } from "../testing/test-clients.ts";
import { createUnreadAnswers } from "./unread-answers.ts";

describe("unread answers", () => {
  function setup(limit = 100) {
    let now = 0;
    const cut: string[] = [];
    const onCut = vi.fn();
    const unread = createUnreadAnswers(limit, { elapsed: () => now }, onCut);
    const hold = (client: string, bytes: number, name: string, isKnown = true) =>
      unread.hold({ client, isKnown }, bytes, () => void cut.push(name));
    return { unread, hold, cut, onCut, pass: (ms: number) => (now += ms) };
  }

  it("end with the oldest of the client that has the most", () => {
    const { unread, hold, cut, pass } = setup();
    hold("jane", 30, "jane");
    hold("greedy", 40, "first");
    hold("greedy", 20, "second");
    pass(1_000);
    hold("joe", 30, "joe");
    expect([cut, unread.bytes]).toEqual([["first"], 80]);
  });

  it("may be read for a second, as long as they are not twice the limit", () => {
    const { unread, hold, cut, onCut, pass } = setup();
    for (const name of ["1", "2", "3", "4"]) hold("greedy", 50, name);
    expect([cut, unread.bytes]).toEqual([[], 200]);
    hold("jane", 10, "jane");
    expect([cut, unread.bytes]).toEqual([["1"], 160]);
    pass(1_000);
    hold("jane", 10, "jane");
    expect([cut, unread.bytes]).toEqual([["1", "2", "3"], 70]);
    expect(onCut).toHaveBeenCalledTimes(3);
  });

  it("of strangers count together, whatever their addresses, and end before those of a user who has less", () => {
    const { unread, hold, cut, pass } = setup();
    hold("10.0.0.1", 30, "jane");
    for (let at = 1; at <= 6; at++) hold(`10.0.0.${at}`, at === 6 ? 12 : 11, `stranger ${at}`, false);
    pass(1_000);
    hold("10.0.0.7", 10, "stranger 7", false);
    expect([cut, unread.bytes]).toEqual([["stranger 6"], 95]);
    hold("greedy", 60, "greedy");
    pass(1_000);
    hold("joe", 1, "joe");
    expect(cut).toEqual(["stranger 6", "stranger 1", "greedy"]);
  });

  it("may be longer than the limit alone, and count until they are read", () => {
    const { unread, hold, cut } = setup();
    const held = hold("jane", 1_000, "jane");
    expect([cut, unread.bytes]).toEqual([[], 1_000]);
    held[Symbol.dispose]();
    held[Symbol.dispose]();
    expect(unread.bytes).toBe(0);
  });
});

/** More than what the kernel takes for a connection. */
const ANSWER_BYTES = 12 << 20;
const LIMITS = { unreadAnswerBytes: 2 * ANSWER_BYTES };
/** Two more than twice the limit. */
const SLOW_CLIENTS = 6;

const KINDS = {
  "one text": () => jsonResponse(200, "x".repeat(ANSWER_BYTES)),
  bytes: () => jsonResponse(200, Buffer.alloc(ANSWER_BYTES, "x")),
  "a stream": () => streamResponse(async (sink) => void (await sink.write(Buffer.alloc(ANSWER_BYTES, "x")))),
};

it("of a user are not ended for those of strangers with many addresses", async () => {
  const { port } = await serveHandler((request) => {
    if (request.path === "/jane") request.know?.("jane");
    return KINDS[request.path === "/jane" ? "bytes" : "one text"]();
  }, LIMITS);
  const paths = ["/jane", ...Array.from({ length: SLOW_CLIENTS }, (_, at) => `/${at}`)];
  const sockets: TLSSocket[] = [];
  for (const [at, path] of paths.entries()) {
    const socket = await openTls(port, `127.0.0.${at + 2}`);
    sockets.push(socket);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
    await once(socket, "readable");
  }
  const lengths = await Promise.all(sockets.map(async (socket) => (await readAll(socket)).length));
  expect(lengths[0]).toBeGreaterThan(ANSWER_BYTES);
  expect(lengths[1]).toBeLessThan(ANSWER_BYTES);
});

describe.each(Object.keys(KINDS) as (keyof typeof KINDS)[])("clients that do not read %s", (kind) => {
  const serve = async () => {
    const ended: string[] = [];
    const { port } = await serveHandler(async ({ signal, path }) => {
      signal.addEventListener("abort", () => ended.push(path));
      // As an answer that waited for something.
      await Promise.resolve();
      return KINDS[kind]();
    }, LIMITS);
    return { port, ended };
  };

  it("lose their oldest over HTTP/1.1, and others get theirs", async () => {
    const { port } = await serve();
    const sockets: TLSSocket[] = [];
    for (let at = 0; at < SLOW_CLIENTS; at++) {
      const socket = await openTls(port);
      sockets.push(socket);
      socket.write(`GET /${at} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
      await once(socket, "readable");
    }
    expect((await http1({ port, path: "/quick" })).body).toHaveLength(ANSWER_BYTES);
    const lengths = await Promise.all(sockets.map(async (socket) => (await readAll(socket)).length));
    expect(lengths.map((length) => length > ANSWER_BYTES)).toEqual([false, false, ...lengths.slice(2).map(expectAny)]);
    expect(lengths.at(-1)).toBeGreaterThan(ANSWER_BYTES);
  });

  it.each(["a stream", "the connection"])("lose their oldest over HTTP/2, where they do not read %s", async (what) => {
    const { port, ended } = await serve();
    for (let at = 0; at < SLOW_CLIENTS; at++) {
      const relay = createServer((client) => {
        const server = connect(port, "127.0.0.1");
        client.pipe(server).pipe(client);
        for (const end of [client, server]) end.on("error", () => undefined);
        onTestFinished(() => {
          client.destroy();
          server.destroy();
        });
        if (what === "the connection") relay.once("stop", () => server.unpipe().pause());
      });
      await once(relay.listen(0, "127.0.0.1"), "listening");
      onTestFinished(() => void relay.close());
      const session = openHttp2((relay.address() as AddressInfo).port);
      onTestFinished(() => session.destroy());
      await once(session, "remoteSettings");
      if (what === "the connection") session.settings({ initialWindowSize: 1 << 30 });
      const stream = session.request({ ":path": `/${at}` }).on("error", () => undefined);
      await once(stream, "response");
      relay.emit("stop");
    }
    await expect.poll(() => ended.slice(0, 2), { timeout: 10_000 }).toEqual(["/0", "/1"]);
    expect(ended).not.toContain(`/${SLOW_CLIENTS - 1}`);
    expect((await http1({ port, path: "/quick" })).body).toHaveLength(ANSWER_BYTES);
  });
});

/** On a slow machine, more answers wait for longer than a second. */
const expectAny = (): unknown => expect.any(Boolean);
