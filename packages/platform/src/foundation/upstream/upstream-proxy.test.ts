// Targets that are reached through an HTTP proxy: the proxy resolves their names, and TLS is spoken with the target.

import { once } from "node:events";
import { createServer as createPlainServer, type IncomingMessage } from "node:http";
import { createServer } from "node:https";
import { type AddressInfo, connect, type Server, type Socket } from "node:net";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { expect, it, onTestFinished } from "vitest";
import { openConnections } from "../../features/proxy/testing/serve-proxy.ts";
import { createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "./address-rules.ts";
import type { UpstreamRequest } from "./upstream-exchange.ts";

const HOST = "outside.invalid";
const certificate = createTestCertificate("outside", {}, `DNS:${HOST},IP:192.0.2.1`);

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const createTarget = (): Server =>
  createServer(certificate, (request, response) => {
    if (request.url !== "/silent") response.end(`{"path":"${request.url}"}`);
  }).on("upgrade", (_request, socket: Socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
    socket.pipe(socket);
  });

type Asked = { readonly target: string; readonly login: string | undefined };

/** A proxy that connects to the target whatever it is asked for, unless `answer` does something else. */
async function proxyTo(answer?: (client: Socket, asked: IncomingMessage) => void) {
  const port = await listening(createTarget());
  const asked: Asked[] = [];
  const clients = new Set<Socket>();
  const server = createPlainServer().on("connect", (request, client: Socket) => {
    asked.push({ target: request.url ?? "", login: request.headers["proxy-authorization"] });
    clients.add(client);
    client.on("error", () => undefined).once("close", () => clients.delete(client));
    if (answer !== undefined)
      return answer(
        client.resume().once("end", () => client.destroy()),
        request,
      );
    const way = connect(port, "127.0.0.1", () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    way.on("error", () => client.destroy());
    client.once("close", () => way.destroy());
    client.pipe(way).pipe(client);
  });
  return { asked, clients, url: new URL(`http://jane:s3cr%40t@127.0.0.1:${await listening(server)}`) };
}

function reach(proxy: URL, host = HOST, connectTimeoutMs = 10_000) {
  const target = { server: `https://${host}`, certificateAuthorityPem: certificate.cert, credential: {} };
  const refuse = [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS];
  const addresses = createAddressRules({ refuse, allow: ["192.0.2.0/24"], proxyFor: () => proxy });
  return openConnections(target, { addresses, limits: { connectTimeoutMs } });
}

const get = (path = "/", signal = new AbortController().signal): UpstreamRequest => ({
  ...{ method: "GET", path, headers: {}, signal },
});

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += chunk.toString();
  return text;
}

it("asks the proxy for the name, with its login, and keeps the connection", async () => {
  const { asked, url } = await proxyTo();
  const connections = reach(url);
  for (const path of ["/a", "/b"]) {
    expect(await textOf(await connections.send(get(path)))).toBe(`{"path":"${path}"}`);
  }
  const login = `Basic ${Buffer.from("jane:s3cr@t").toString("base64")}`;
  expect(asked).toEqual([{ target: `${HOST}:443`, login }]);
});

it("compares the certificate with the host, be it a name or an address", async () => {
  const { asked, url } = await proxyTo();
  expect((await reach(url, "192.0.2.1").send(get())).statusCode).toBe(200);
  for (const host of ["other.invalid", "192.0.2.2"]) {
    await expect(reach(url, host).send(get())).rejects.toMatchObject({
      details: { causes: [{ reason: "CertificateNotTrusted", message: "its certificate is for another name" }] },
    });
  }
  expect(asked.map(({ target }) => target)).toEqual(["192.0.2.1:443", "other.invalid:443", "192.0.2.2:443"]);
});

it("does not ask the proxy for an address that is refused", async () => {
  const { asked, url } = await proxyTo();
  for (const host of ["10.0.0.1", "169.254.169.254", "2130706433", "[::ffff:10.0.0.1]", "[fd00::1]"]) {
    await expect(reach(url, host).send(get())).rejects.toMatchObject({
      details: { causes: [{ reason: "AddressRefused" }] },
    });
  }
  expect(asked).toEqual([]);
});

it("passes on upgraded connections", async () => {
  const { url } = await proxyTo();
  const answer = await reach(url).upgrade({
    ...get(),
    upgrade: "echo",
  });
  if (answer.type !== "upgraded") throw new Error("the target has not upgraded");
  answer.socket.write("hello");
  expect(String((await once(answer.socket, "data"))[0])).toBe("hello");
  answer.socket.destroy();
});

it.each([
  [403, "ProxyRefused", "the platform's HTTP proxy does not connect to it (403)"],
  [407, "ProxyRefused", "the platform's HTTP proxy refuses the platform's login"],
  [502, "ProxyRefused", "the platform's HTTP proxy does not connect to it (502)"],
])("says that a proxy answered %i, without its name and login", async (status, reason, message) => {
  const { url } = await proxyTo((client) => client.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`));
  const error: unknown = await reach(url)
    .send(get())
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof ApiError)) throw error;
  expect(error).toMatchObject({ code: 503, details: { causes: [{ reason, message }] } });
  expect(error.message).not.toContain(url.host);
  expect(`${error.stack}${String(error.cause)}`).not.toMatch(/s3cr|amFuZT/);
});

it("says that there is no proxy, and that it closed the connection", async () => {
  const gone = await proxyTo((client) => void client.destroy());
  const closed = new URL("http://127.0.0.1:1");
  for (const url of [gone.url, closed]) {
    await expect(reach(url).send(get())).rejects.toMatchObject({
      details: { causes: [{ reason: "ProxyUnavailable", message: "the platform's HTTP proxy cannot be used" }] },
    });
  }
});

it.each<[string, (client: Socket) => void]>([
  ["the proxy is silent", () => undefined],
  ["the proxy connects, and the target is silent", (client) => void client.write("HTTP/1.1 200 OK\r\n\r\n")],
  ["the proxy never ends its answer", (client) => void client.write("HTTP/1.1 200 OK\r\nx: ")],
])("gives up in time where %s, and leaves no connection", async (_, answer) => {
  const { clients, url } = await proxyTo(answer);
  await expect(reach(url, HOST, 200).send(get())).rejects.toMatchObject({
    details: { causes: [{ reason: "ConnectTimeout" }] },
  });
  await expect.poll(() => clients.size).toBe(0);
});

it.each(["while the proxy connects", "while the target answers"])(
  "ends its connection where it is aborted %s",
  async (when) => {
    const isEarly = when === "while the proxy connects";
    const { asked, clients, url } = await proxyTo(isEarly ? () => undefined : undefined);
    const ending = new AbortController();
    const failed = expect(reach(url).send(get("/silent", ending.signal))).rejects.toThrow("enough");
    await expect.poll(() => asked.length).toBe(1);
    if (!isEarly) await expect.poll(() => clients.size).toBe(1);
    ending.abort(new Error("enough"));
    await failed;
    await expect.poll(() => clients.size).toBe(0);
  },
);

it("ends with the target", async () => {
  const { clients, url } = await proxyTo();
  const connections = reach(url);
  await textOf(await connections.send(get()));
  expect(clients.size).toBe(1);
  connections[Symbol.dispose]();
  await expect.poll(() => clients.size).toBe(0);
});
