// The reasons that an agent gives where it does not get through to the platform: over real sockets, TLS and HTTP proxies.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { createCertificateAuthority } from "@postern/platform/foundation/pki/certificate-authority";
import { signServingCertificate } from "@postern/platform/foundation/pki/serving-certificate";
import { afterEach, describe, expect, it } from "vitest";
import { dialPlatform } from "./dial-platform.ts";

const DAY = 86_400_000;
const random = { bytes: randomBytes };
const running = new Set<Server>();
afterEach(() => {
  for (const server of running) server.close();
  running.clear();
});

async function listening(server: Server): Promise<number> {
  running.add(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Self-signed, for no address, and made at that time. */
const certificateOf = (aheadMs: number, lifetimeMs = 5_000 * DAY) =>
  createCertificateAuthority({
    commonName: "platform",
    clock: { now: () => Date.now() + aheadMs, elapsed: () => performance.now() },
    random,
    lifetimeMs,
  });

const dial = (port: number, ca: string | undefined, environment: Record<string, string> = {}) =>
  dialPlatform(
    { server: `https://127.0.0.1:${port}`, certificateAuthority: ca, environment },
    new AbortController().signal,
  );

describe("the agent's connection to the platform", () => {
  it.each<[string, number, number, boolean, string]>([
    ["signed by another CA", 0, 5_000 * DAY, false, "not signed by the CA of the join"],
    ["expired", -2 * DAY, DAY, true, "not valid now (CERT_HAS_EXPIRED): compare the clocks"],
    ["not valid yet", 1_000 * DAY, 5_000 * DAY, true, "not valid now (CERT_NOT_YET_VALID): compare the clocks"],
    ["for another address", 0, 5_000 * DAY, true, "for another name"],
  ])("is refused with the reason where the certificate is %s", async (_what, aheadMs, lifetimeMs, isKnown, message) => {
    const { certificatePem, privateKeyPem } = certificateOf(aheadMs, lifetimeMs);
    const server = createTlsServer({ cert: certificatePem, key: privateKeyPem });
    server.on("tlsClientError", () => undefined);
    const port = await listening(server);
    const trusted = isKnown ? certificatePem : certificateOf(0).certificatePem;
    await expect(dial(port, trusted)).rejects.toThrow(message);
  });

  it("is refused where no server is", async () => {
    const server = createServer();
    const port = await listening(server);
    server.close();
    await once(server, "close");
    await expect(dial(port, undefined)).rejects.toThrow("ECONNREFUSED");
    const proxy = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    await expect(dial(port, undefined, proxy)).rejects.toThrow(`the proxy 127.0.0.1:${port} cannot be used`);
  });

  it.each([403, 407])("is refused with the words of a proxy that answers %d", async (status) => {
    const proxy = createHttpServer();
    proxy.on("connect", (_request, socket) => socket.end(`HTTP/1.1 ${status} No\r\n\r\n`));
    const port = await listening(proxy);
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    await expect(dial(9, undefined, environment)).rejects.toThrow(`answers CONNECT 127.0.0.1:9 with ${status}`);
  });

  it.each<[string, boolean]>([
    ["127.0.0.1", true],
    // Names of the machine itself and of its proxy.
    ["localhost", false],
  ])("through a proxy is to the address that was asked for: a certificate for %s, %s", async (name, isAccepted) => {
    const authority = certificateOf(0);
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const names = [name];
    const clock = { now: () => Date.now(), elapsed: () => performance.now() };
    const cert = signServingCertificate({ authority, names, publicKey, clock, random });
    const key = privateKey.export({ type: "pkcs8", format: "pem" });
    const server = createTlsServer({ cert, key }, (socket) => socket.end());
    server.on("tlsClientError", () => undefined);
    const port = await listening(server);
    const proxy = createHttpServer();
    proxy.on("connect", (_request, socket) => {
      const target = connect(port, "127.0.0.1", () => socket.write("HTTP/1.1 200 OK\r\n\r\n"));
      socket.pipe(target).pipe(socket);
    });
    const environment = { HTTPS_PROXY: `http://localhost:${await listening(proxy)}` };
    const dialled = dial(port, authority.certificatePem, environment).then(
      (socket) => void socket.destroy(),
      (error: Error) => error.message,
    );
    expect(await dialled).toBe(isAccepted ? undefined : "through the proxy: its certificate is for another name");
  });
});
