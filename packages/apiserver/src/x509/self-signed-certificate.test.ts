import { X509Certificate } from "node:crypto";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createSelfSignedCertificate, type SelfSignedCertificate } from "./self-signed-certificate.ts";

const DAY_MS = 86_400_000;

describe("a self-signed certificate", () => {
  it("answers to its names for its days, and signs no other certificate", () => {
    const now = Date.UTC(2026, 0, 5);
    const runtime = { ...systemRuntime, clock: { now: () => now, elapsed: () => 0 } };
    const { cert } = createSelfSignedCertificate({ names: ["bakery.test", "*.loaves.test", "::1"], days: 2, runtime });
    const certificate = new X509Certificate(cert);
    expect(certificate.subjectAltName).toBe("DNS:bakery.test, DNS:*.loaves.test, IP Address:0:0:0:0:0:0:0:1");
    expect(Date.parse(certificate.validTo)).toBe(now + 2 * DAY_MS);
    expect(Date.parse(certificate.validFrom)).toBeLessThan(now);
    expect(certificate.ca).toBe(false);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });

  it("is trusted by a client that has it, and by no other", async () => {
    const own = createSelfSignedCertificate();
    const other = createSelfSignedCertificate();
    expect(await get(own, own.cert)).toBe("200");
    expect(await get(own, other.cert)).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
  });

  it.each([
    ["a name that is none", { names: ["bad name"] }, '"bad name" is neither a host name nor an IP address'],
    ["a name with a scheme", { names: ["https://x"] }, "neither a host name"],
    ["no names", { names: [] }, "needs a name"],
    ["no days", { days: 0 }, "at least one day"],
  ])("is not made for %s", (_, options, message) => {
    expect(() => createSelfSignedCertificate(options)).toThrow(message);
  });
});

/** The status, or the code of the error. */
async function get(credentials: SelfSignedCertificate, ca: string): Promise<string> {
  const server = createServer(credentials, (_, response) => response.end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    return await new Promise((resolve) => {
      request({ host: "127.0.0.1", port, ca, agent: false }, (response) => resolve(String(response.statusCode)))
        .on("error", (error) => resolve("code" in error ? String(error.code) : error.message))
        .end();
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
}
