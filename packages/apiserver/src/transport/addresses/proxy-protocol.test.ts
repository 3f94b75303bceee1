import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import { echo, serveHandler } from "../testing/serve-handler.ts";
import { parseProxyHeader } from "./proxy-protocol.ts";

const SIGNATURE = Buffer.from("\r\n\r\n\0\r\nQUIT\n", "latin1");
const binary = (command: number, family: number, body: readonly number[], length = body.length): Buffer =>
  Buffer.concat([SIGNATURE, Buffer.from([command, family, length >> 8, length & 0xff, ...body])]);
const IPV4 = [192, 0, 2, 7, 10, 0, 0, 1, 1, 2, 3, 4];
const IPV6 = [0x20, 1, 0xd, 0xb8, ...new Array<number>(11).fill(0), 7, ...new Array<number>(16).fill(1), 1, 2, 3, 4];
const MAPPED = [...new Array<number>(10).fill(0), 255, 255, 192, 0, 2, 7, ...new Array<number>(16).fill(1), 1, 2, 3, 4];
const TLV = [3, 0, 4, 1, 2, 3, 4];

describe("a header of the PROXY protocol", () => {
  it.each<readonly [header: Buffer, client: string | undefined]>([
    [Buffer.from("PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n"), "192.0.2.7"],
    [Buffer.from("PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n"), "2001:db8::7"],
    [Buffer.from("PROXY TCP6 ::ffff:192.0.2.7 2001:db8::1 4711 443\r\n"), "192.0.2.7"],
    [Buffer.from("PROXY UNKNOWN\r\n"), undefined],
    [Buffer.from(`PROXY UNKNOWN ${"f".repeat(80)}\r\n`), undefined],
    [binary(0x21, 0x11, IPV4), "192.0.2.7"],
    [binary(0x21, 0x11, [...IPV4, ...TLV]), "192.0.2.7"],
    [binary(0x21, 0x21, IPV6), "2001:db8::7"],
    [binary(0x21, 0x21, MAPPED), "192.0.2.7"],
    [binary(0x21, 0x31, new Array<number>(216).fill(1)), undefined],
    [binary(0x21, 0x12, IPV4), undefined],
    [binary(0x20, 0x00, []), undefined],
    [binary(0x20, 0x11, IPV4), undefined],
  ])("names its client, and is read as a whole only: %#", (header, client) => {
    expect(parseProxyHeader(Buffer.concat([header, Buffer.from([0x16, 3, 1])]))).toEqual({
      length: header.length,
      client,
    });
    for (let length = 0; length < header.length; length++)
      expect(parseProxyHeader(header.subarray(0, length))).toBe("incomplete");
  });

  it.each([
    Buffer.from([0x16, 3, 1, 2, 0]),
    Buffer.from("GET / HTTP/1.1\r\n\r\n"),
    Buffer.from("PROXY TCP4 192.0.2.7 10.0.0.1 4711\r\n"),
    Buffer.from("PROXY TCP4 2001:db8::7 10.0.0.1 4711 443\r\n"),
    Buffer.from("PROXY TCP4 192.0.2.7  10.0.0.1 4711 443\r\n"),
    Buffer.from("PROXY TCP4 localhost 10.0.0.1 4711 443\r\n"),
    Buffer.from("PROXY UDP4 192.0.2.7 10.0.0.1 4711 443\r\n"),
    Buffer.from(`PROXY UNKNOWN ${"f".repeat(100)}\r\n`),
    binary(0x11, 0x11, IPV4),
    binary(0x22, 0x11, IPV4),
    binary(0x21, 0x11, IPV4.slice(1)),
    binary(0x21, 0x21, IPV4),
    binary(0x21, 0x11, [], 0xffff),
  ])("is refused where it has no meaning: %#", (bytes) => expect(parseProxyHeader(bytes)).toBe("malformed"));

  it(`leaves no bytes that cannot be judged (TEST_SEED=${process.env["TEST_SEED"]})`, () => {
    let state = Number(process.env["TEST_SEED"]);
    const draw = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return (state >> 8) % below;
    };
    const given = [Buffer.from("PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n"), binary(0x21, 0x11, [...IPV4, ...TLV])];
    for (let run = 0; run < 5_000; run++) {
      const bytes = Buffer.from(given[draw(2)] ?? "");
      for (let change = draw(4); change >= 0; change--) bytes[draw(bytes.length)] = draw(256);
      const found = parseProxyHeader(Buffer.concat([bytes, Buffer.alloc(5_000)]));
      expect(found).not.toBe("incomplete");
      if (typeof found === "object") expect(found.length).toBeLessThanOrEqual(4_096);
    }
  });
});

describe("a connection from a load balancer that speaks the PROXY protocol", () => {
  const serve = () =>
    serveHandler(
      echo,
      { handshakeTimeoutMs: 500 },
      {
        trustedProxies: {
          networks: [{ octets: Uint8Array.from([127, 0, 0, 1]), bits: 32 }],
          header: "x-forwarded-for",
          sendProxyProtocol: true,
        },
      },
    );

  /** The answer to a request behind the header, or undefined where the server closes the connection. */
  async function ask(socket: Socket, request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"): Promise<any> {
    const tls = connectTls({ socket, rejectUnauthorized: false, ALPNProtocols: ["http/1.1"] });
    tls.on("secureConnect", () => tls.write(request));
    let text = "";
    tls.on("data", (data) => (text += data)).on("error", () => undefined);
    await new Promise((resolve) => tls.once("close", resolve));
    return text === "" ? undefined : JSON.parse(text.slice(text.indexOf("\r\n\r\n")).replace(/^[^{]*|[^}]*$/g, ""));
  }
  const dial = async (port: number, localAddress = "127.0.0.1"): Promise<Socket> => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  };

  it.each([
    ["version 1", Buffer.from("PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n"), "192.0.2.7"],
    ["version 2", binary(0x21, 0x11, [...IPV4, ...TLV]), "192.0.2.7"],
    ["version 2 without an address", binary(0x20, 0, []), "127.0.0.1"],
  ])("is its client's: %s", async (_version, header, client) => {
    const { port } = await serve();
    const socket = await dial(port);
    socket.write(header);
    expect((await ask(socket)).remoteAddress).toBe(client);
  });

  it("may send its header in parts, together with the beginning of the handshake", async () => {
    const { port } = await serve();
    const socket = await dial(port);
    const header = Buffer.from("PROXY TCP6 2001:db8::7 2001:db8::1 4711 443\r\n");
    socket.setNoDelay(true);
    for (const byte of header.subarray(0, -2)) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.cork();
    socket.write(header.subarray(-2));
    const asked = ask(socket);
    setImmediate(() => socket.uncork());
    expect((await asked).remoteAddress).toBe("2001:db8::7");
  });

  it("has no second client: what the client itself says of others counts for nothing", async () => {
    const { port } = await serve();
    const socket = await dial(port);
    socket.write("PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n");
    const request = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n";
    expect((await ask(socket, request)).remoteAddress).toBe("192.0.2.7");
  });

  it.each([
    ["of an unknown family", Buffer.from("PROXY UNKNOWN\r\n")],
    [
      "of a Unix socket",
      binary(
        0x21,
        0x31,
        Array.from({ length: 216 }, () => 0),
      ),
    ],
    ["of its own", binary(0x20, 0, [])],
    ["in its own name", Buffer.from("PROXY TCP4 127.0.0.1 10.0.0.1 4711 443\r\n")],
  ])("is not named by the client either where the load balancer names none: %s", async (_what, header) => {
    const { port } = await serve();
    const socket = await dial(port);
    socket.write(header);
    const request = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n";
    expect((await ask(socket, request)).remoteAddress).toBe("127.0.0.1");
  });

  it.each(["", "GET / HTTP/1.1\r\n\r\n", "PROXY TCP4 192.0.2.7\r\n"])(
    "is closed without a header: %j",
    async (bytes) => {
      const { port } = await serve();
      const socket = await dial(port);
      if (bytes !== "") socket.write(bytes);
      await new Promise((resolve) => socket.resume().once("close", resolve));
    },
  );

  it("is closed where the load balancer begins the handshake instead", async () => {
    const { port } = await serve();
    expect(await ask(await dial(port))).toBeUndefined();
  });

  it("is not trusted from another address: its header ends it, and a handshake does not", async () => {
    const { port } = await serve();
    const forger = await dial(port, "127.0.0.2");
    forger.write("PROXY TCP4 192.0.2.7 10.0.0.1 4711 443\r\n");
    expect(await ask(forger)).toBeUndefined();
    expect((await ask(await dial(port, "127.0.0.2"))).remoteAddress).toBe("127.0.0.2");
  });
});
