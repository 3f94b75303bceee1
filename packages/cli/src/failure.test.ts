import { generateKeyPairSync } from "node:crypto";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { describe, expect, it } from "vitest";
import { describeFailure, PlatformFailure } from "./failure.ts";
import type { FoundConnection } from "./login/platform-choice.ts";

const failureOf = (socket: ReturnType<typeof connect>) =>
  new Promise<Error>((resolve) => {
    socket.once("error", resolve);
  });

/** As Node makes them. */
const systemError = (code: string, fields: object = {}) => Object.assign(new Error(`raw ${code}`), { code, ...fields });

describe("a failure of the connection", () => {
  it("names the address and the cause once, and no call of the system", async () => {
    const error = await failureOf(connect({ host: "127.0.0.1", port: 1 }));
    expect(describeFailure(error)).toBe(
      "127.0.0.1:1: connection refused: check the address, and that the server is running",
    );
  });

  it("is described alike for TLS", async () => {
    const error = await failureOf(connectTls({ host: "127.0.0.1", port: 1 }));
    expect(describeFailure(error)).toMatch(/^127\.0\.0\.1:1: connection refused: /);
  });

  it.each([
    [systemError("ENOTFOUND", { hostname: "foo", syscall: "getaddrinfo" }), "foo: unknown host: check the address"],
    [
      systemError("ETIMEDOUT", { address: "192.0.2.1", port: 443 }),
      "192.0.2.1:443: the server does not respond: check the address, and the network",
    ],
    [systemError("ECONNRESET"), "the server closed the connection: try again"],
    [
      systemError("SELF_SIGNED_CERT_IN_CHAIN"),
      "the server's certificate is not signed by the CA that is trusted for it: pass its CA with --ca",
    ],
    [systemError("CERT_HAS_EXPIRED"), "the server's certificate has expired: renew it on the server"],
    [
      systemError("ERR_TLS_CERT_ALTNAME_INVALID", { host: "other.example.com" }),
      "other.example.com: the server's certificate is for another name: use a name in the certificate, or add this one with --tls-san",
    ],
  ])("%s says what to do", (error, text) => {
    expect(describeFailure(error)).toBe(text);
  });

  it("names the server where Node does not", () => {
    const named = (code: string, fields?: object) =>
      describeFailure(systemError(code, fields), undefined, "https://postern.example.com:8443/kubernetes/management");
    expect(named("CERT_HAS_EXPIRED")).toMatch(/^postern\.example\.com:8443: the server's certificate has expired/);
    expect(named("ENOTFOUND", { hostname: "foo" })).toMatch(/^foo: unknown host/);
  });

  it("keeps the message of any other error", () => {
    expect(describeFailure(systemError("EPROTO"))).toBe("unexpected failure: raw EPROTO (set DEBUG=1 to see where)");
  });
});

describe("a credential of the environment that is refused", () => {
  const refused = new ApiError({ code: 401, reason: "Unauthorized", message: "access key not found" });
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const transport = { server: "https://127.0.0.1:8443" };

  it.each([
    [{ transport }, "check POSTERN_TOKEN"],
    [{ transport, keyPair: privateKey }, "check POSTERN_TOKEN and POSTERN_DPOP_KEY"],
    [
      { transport: { ...transport, clientCertificatePem: "a certificate" } },
      "check POSTERN_TOKEN and POSTERN_CLIENT_CERTIFICATE",
    ],
    [{ transport, workload: {} }, "check POSTERN_TRUST_RULE"],
  ])("names the variables that it came from (%#)", (connection, remedy) => {
    const found = { source: "environment", from: "POSTERN_URL and POSTERN_TOKEN", mark: {}, ...connection };
    expect(describeFailure(new PlatformFailure(refused, found as unknown as FoundConnection))).toBe(
      `access key not found (401): ${remedy}`,
    );
  });
});
