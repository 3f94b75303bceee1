// A real TLS handshake with the certificates we make, on both sides.

import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import tls from "node:tls";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CertificateAuthority, createCertificateAuthority } from "./certificate-authority.ts";
import { signServingCertificate } from "./serving-certificate.ts";
import { signClientCertificate } from "./sign-client-certificate.ts";

const { clock, random } = systemRuntime;
const authority = createCertificateAuthority({ commonName: "test-ca", clock, random });
const newKeys = () => generateKeyPairSync("ec", { namedCurve: "prime256v1" });
const pemOf = (key: ReturnType<typeof newKeys>["privateKey"]) => key.export({ type: "pkcs8", format: "pem" });
let server: tls.Server;

beforeAll(async () => {
  const keys = newKeys();
  const cert = signServingCertificate({ authority, names: ["127.0.0.1"], clock, random, publicKey: keys.publicKey });
  server = tls.createServer(
    { cert, key: pemOf(keys.privateKey), ca: authority.certificatePem, requestCert: true, rejectUnauthorized: false },
    (socket) => {
      const { CN, O } = socket.getPeerCertificate().subject ?? {};
      socket.end(JSON.stringify({ authorized: socket.authorized, CN, O }));
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => server.close());

async function connect(signer?: CertificateAuthority) {
  const { publicKey, privateKey } = newKeys();
  const publicKeyInfo = publicKey.export({ type: "spki", format: "der" });
  const request = { publicKeyInfo, commonName: "jane", organizations: ["devs", "ops"], notAfter: clock.now() + 60_000 };
  const socket = tls.connect({
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
    ca: authority.certificatePem,
    ...(signer && {
      cert: signClientCertificate({ ...request, authority: signer, clock, random }).pem,
      key: pemOf(privateKey),
    }),
  });
  let text = "";
  for await (const chunk of socket) text += chunk;
  return JSON.parse(text);
}

describe("a TLS server with our certificate", () => {
  it("is trusted by our authority alone, and knows our clients", async () => {
    expect(await connect(authority)).toEqual({ authorized: true, CN: "jane", O: ["devs", "ops"] });
  });

  it("does not authorise a client of another authority, nor one without certificate (security book 22)", async () => {
    const other = createCertificateAuthority({ commonName: "test-ca", clock, random });
    expect((await connect(other)).authorized).toBe(false);
    expect((await connect()).authorized).toBe(false);
  });
});
