import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TlsOptions } from "node:tls";
import { deferred } from "@postern/apiserver/transport/testing/deferred";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { describe, expect, it, onTestFinished } from "vitest";
import { CostlyTlsError, upstreamTls } from "./upstream-tls.ts";

const { key, cert } = createTestCertificate();

/** The code of the error that ends the handshake with such a server; undefined if it succeeds. */
async function handshakeWith(options: TlsOptions): Promise<string | undefined> {
  const server = createServer({ key, cert, ...options }).listen(0, "127.0.0.1");
  server.on("tlsClientError", () => undefined);
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const socket = connect({
    port,
    host: "127.0.0.1",
    ...upstreamTls({ certificateAuthorityPem: cert, credential: {} }),
  });
  try {
    await once(socket, "secureConnect");
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.destroy();
  }
}

const clientKey = (pem: string) => () =>
  upstreamTls({ credential: { clientCertificate: { certificatePem: cert, privateKeyPem: pem } } });

describe("TLS towards a target", () => {
  it.each<[string, TlsOptions]>([
    ["TLS 1.3", { minVersion: "TLSv1.3" }],
    ["TLS 1.2", { maxVersion: "TLSv1.2" }],
    ["P-521", { ecdhCurve: "secp521r1" }],
  ])("agrees with a server of %s", async (_, options) => {
    expect(await handshakeWith(options)).toBeUndefined();
  });

  it("does not compute with a prime that the server chooses", async () => {
    const dhparam = execFileSync("openssl", [
      "genpkey",
      "-genparam",
      "-algorithm",
      "DH",
      "-pkeyopt",
      "group:ffdhe8192",
    ]);
    const rsa = createRsaCertificate();
    for (const ciphers of ["DHE-RSA-AES128-GCM-SHA256", "DHE-RSA-AES256-SHA"])
      expect(await handshakeWith({ ...rsa, dhparam, ciphers, maxVersion: "TLSv1.2" })).toMatch(/^ERR_SSL_/);
    for (const ecdhCurve of ["ffdhe8192", "ffdhe2048"])
      expect(await handshakeWith({ ecdhCurve, minVersion: "TLSv1.3" })).toMatch(/^ERR_SSL_/);
  });

  it("makes one handshake for a connection, however often a server of TLS 1.2 asks for another", async () => {
    const refused = deferred<Error | null>();
    const server = createServer({ key, cert, maxVersion: "TLSv1.2" }, (socket) => {
      socket.on("error", () => undefined).once("error", refused.resolve);
      socket.renegotiate({}, refused.resolve);
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const tls = upstreamTls({ certificateAuthorityPem: cert, credential: {} });
    const socket = connect({ port, host: "127.0.0.1", ...tls }).on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.resume();
    expect(await refused.promise).toMatchObject({ code: "ERR_SSL_NO_RENEGOTIATION" });
  });

  it("refuses bundles of more certificates than OpenSSL reads at once", () => {
    const bundle = (count: number) => () =>
      upstreamTls({ certificateAuthorityPem: cert.repeat(count), credential: {} });
    expect(bundle(256)).not.toThrow();
    expect(bundle(257)).toThrow(new CostlyTlsError("the certificate authority has more than 256 certificates"));
    const chain = () =>
      upstreamTls({ credential: { clientCertificate: { certificatePem: cert.repeat(257), privateKeyPem: key } } });
    expect(chain).toThrow(new CostlyTlsError("the client certificate has more than 256 certificates"));
  });

  it("refuses client keys that sign slowly", () => {
    expect(clientKey(key)).not.toThrow();
    const pem = (kind: "long" | "dsa"): string => {
      const { privateKey } =
        kind === "dsa"
          ? generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 })
          : generateKeyPairSync("rsa", { modulusLength: 4104 });
      return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    };
    expect(clientKey(pem("long"))).toThrow(new CostlyTlsError("the RSA client key has more than 4096 bits"));
    expect(clientKey(pem("dsa"))).toThrow(CostlyTlsError);
  });
});

function createRsaCertificate(): { readonly key: string; readonly cert: string } {
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", "-", "-out", "-", ...names];
  const made = execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] }).toString();
  return { key: made, cert: made.slice(made.indexOf("-----BEGIN CERTIFICATE")) };
}
