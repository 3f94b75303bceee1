// Which hosts are reached through the proxy of the environment. Each row is as in Go, and so in kubectl.
// Source: golang.org/x/net/http/httpproxy/proxy_test.go (UseProxyTests)

import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net";
import { expect, it, onTestFinished, vi } from "vitest";
import { connectThrough, parseProxy, proxyBeyond, proxyFor } from "./http-proxy.ts";
import { createNodeTransport } from "./node.ts";

const NO_PROXY =
  "foobar.com, .barbaz.net, *.quux.net, 192.168.1.1, 192.168.1.2:81, 192.168.1.3:443, 10.0.0.0/30, 2001:db8::52:0:1, [2001:db8::52:0:2]:443, [2002:db8:a::45]:80, 2002:db8:b::/48";
const proxied = (host: string, port = 443): boolean =>
  proxyBeyond(host, port, { HTTPS_PROXY: "http://proxy.example:3128", NO_PROXY }) !== undefined;

it.each<[string, boolean]>([
  ["localhost", false],
  ["127.0.0.1", false],
  ["127.0.0.2", false],
  ["::1", false],
  ["::2", true],
  ["192.168.1.1", false],
  ["192.168.1.2", true],
  ["192.168.1.3", false],
  ["192.168.1.4", true],
  ["10.0.0.2", false],
  ["10.0.0.5", true],
  ["2001:db8::52:0:1", false],
  ["2001:db8::52:0:2", false],
  ["2001:db8::52:0:3", true],
  ["2002:db8:a::45", true],
  ["2002:db8:b::7", false],
  ["foobar.com", false],
  ["FOOBAR.com", false],
  ["www.foobar.com", false],
  ["foofoobar.com", true],
  ["barbaz.net", true],
  ["a.barbaz.net", false],
  ["quux.net", true],
  ["www.quux.net", false],
  ["localhost.net", true],
])("reaches %s through the proxy: %s", (host, expected) => {
  expect(proxied(host)).toBe(expected);
});

it("takes the names of variables in either case, and a proxy without a scheme", () => {
  expect(proxyFor("a", 443, { https_proxy: "proxy.example:3128" })?.href).toBe("http://proxy.example:3128/");
  expect(proxyFor("a", 443, { HTTPS_PROXY: "", https_proxy: "proxy.example" })?.host).toBe("proxy.example");
  expect(proxyFor("a", 443, { HTTPS_PROXY: "proxy.example", no_proxy: "b, *" })).toBeUndefined();
  expect(proxyFor("a", 443, {})).toBeUndefined();
});

it.each(["socks5://a", "https://a:3128", "http://"])("refuses %s", (proxy) => {
  expect(() => parseProxy(proxy, "HTTPS_PROXY")).toThrow("the proxy of HTTPS_PROXY must be an http URL");
});

it.each(["http://jane:50%off@proxy.example:3128", "http://j%E4ne@proxy.example:3128"])(
  "says why it cannot use the login in %s",
  async (proxy) => {
    const connecting = connectThrough(parseProxy(proxy, "HTTPS_PROXY"), "postern.example", 443);
    await expect(connecting).rejects.toMatchObject({
      name: "ProxyError",
      message: "the user or password of the proxy proxy.example:3128 has a % that begins no escape: write it as %25",
    });
  },
);

it("rejects a request whose client certificate cannot be read, and leaves no connection to the proxy", async () => {
  const proxy = createServer();
  const ended = new Promise<void>((resolve) =>
    proxy.once("connect", (_request, socket: Socket) => {
      socket.once("end", () => resolve(void socket.destroy())).resume();
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
    }),
  );
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const { port } = proxy.address() as AddressInfo;
  await using transport = createNodeTransport({
    server: "https://postern.example",
    proxyURL: `http://127.0.0.1:${port}`,
    clientCertificatePem: "x",
    clientKeyPem: "x",
  });
  await expect(transport.send({ method: "GET", path: "/", headers: {} })).rejects.toThrow("no start line");
  await ended;
  proxy.close();
});

it("rejects when a proxy never ends its answer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const proxy = createServer().on("connect", (_request, socket: Socket) => {
    socket.on("error", () => undefined);
    socket.write("HTTP/1.1 200 OK\r\nX-Slow: ");
    const drip = setInterval(() => socket.write("x"), 5);
    socket.once("close", () => clearInterval(drip));
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  const connecting = connectThrough(new URL(`http://127.0.0.1:${port}`), "platform.example", 443);
  const refused = expect(connecting).rejects.toThrow("cannot be used: it does not answer");
  await once(proxy, "connection");
  await vi.advanceTimersByTimeAsync(15_000);
  await refused;
});

it.each(["directly", "through a proxy"])("does not wait for TLS of a silent server %s", async (way) => {
  const sockets = new Set<Socket>();
  const server = createServer().on("connection", (socket) => sockets.add(socket));
  server.on("connect", (_request, socket) => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
  const silent = createTcpServer((socket) => sockets.add(socket));
  for (const each of [server, silent]) await once(each.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    silent.close();
  });
  const portOf = (each: typeof silent | typeof server) => (each.address() as AddressInfo).port;
  await using transport = createNodeTransport({
    server: `https://127.0.0.1:${portOf(silent)}`,
    connectTimeoutMs: 200,
    ...(way === "directly" ? {} : { proxyURL: `http://127.0.0.1:${portOf(server)}` }),
  });
  const sent = transport.send({ method: "GET", path: "/", headers: {} });
  await expect(sent).rejects.toMatchObject({ code: "ETIMEDOUT" });
});

it("gives up a proxy that is silent when the transport is disposed", async () => {
  const sockets = new Set<Socket>();
  const silent = createTcpServer((socket) => sockets.add(socket));
  await once(silent.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    silent.close();
  });
  const transport = createNodeTransport({
    server: "https://postern.example",
    proxyURL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
  });
  const sent = transport.send({ method: "GET", path: "/", headers: {} });
  sent.catch(() => {});
  await vi.waitFor(() => expect(sockets.size).toBe(1));
  await transport[Symbol.asyncDispose]();
  await expect(sent).rejects.toThrow("cannot be used");
});
