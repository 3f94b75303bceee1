import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openConnections } from "../../features/proxy/testing/serve-proxy.ts";
import { createUpstreamClient } from "./upstream-transport.ts";

/** `authority` and `extensions` are lines of OpenSSL's configuration. */
type Issue = { readonly authority?: string; readonly extensions?: string; readonly days?: string };

/** An authority and the certificate of a server that it signed, both with the same name, which may be empty, and no key identifiers. */
function issue(subject: string, { authority = "CA:TRUE", extensions = "", days = "2" }: Issue = {}) {
  const folder = mkdtempSync(join(tmpdir(), "same-name-"));
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: readonly string[]) => execFileSync("openssl", args, { stdio: "ignore" });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", subject];
  const none = "subjectKeyIdentifier=none\nauthorityKeyIdentifier=none\n";
  try {
    writeFileSync(at("ca.conf"), `${none}basicConstraints=critical,${authority}\n`);
    writeFileSync(at("leaf.conf"), `${none}subjectAltName=DNS:localhost\n${extensions}`);
    openssl("req", "-new", ...key, "-keyout", at("ca.key"), "-out", at("ca.csr"));
    openssl(
      "x509",
      "-req",
      "-in",
      at("ca.csr"),
      "-signkey",
      at("ca.key"),
      "-extfile",
      at("ca.conf"),
      "-out",
      at("ca.pem"),
    );
    openssl("req", "-new", ...key, "-keyout", at("leaf.key"), "-out", at("leaf.csr"));
    const signed = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial", "-days", days];
    openssl("x509", "-req", "-in", at("leaf.csr"), ...signed, "-extfile", at("leaf.conf"), "-out", at("leaf.pem"));
    const read = (name: string): string => readFileSync(at(name), "utf8");
    return { authority: read("ca.pem"), cert: read("leaf.pem"), key: read("leaf.key") };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

type Served = { readonly cert: string; readonly key: string };

/** The fault of each of two requests to such a server, one connection after the other; undefined where it answers. */
async function ask({ cert, key }: Served, certificateAuthorityPem: string, host = "localhost") {
  const server = createServer({ cert, key }, (_request, response) => {
    response.setHeader("connection", "close");
    response.end("{}");
  });
  server.on("tlsClientError", () => undefined);
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const connections = openConnections({ server: `https://${host}:${port}`, certificateAuthorityPem, credential: {} });
  const client = createUpstreamClient(connections, "test");
  const once = async () => {
    try {
      await client.request({ method: "GET", path: "/version" });
      return undefined;
    } catch (error: any) {
      return error.details?.causes?.[0]?.message ?? error.message;
    }
  };
  return [await once(), await once()];
}

const UNTRUSTED = expect.stringContaining("its certificate is not signed by a trusted CA");

describe("a server whose certificate has the name of its authority", () => {
  it.each(["/", "/CN=localhost"])("is trusted where the authority is named: %s", async (subject) => {
    const { authority, ...server } = issue(subject);
    expect(await ask(server, authority)).toEqual([undefined, undefined]);
    const other = issue(subject).authority;
    expect(await ask(server, other)).toEqual([UNTRUSTED, UNTRUSTED]);
    expect(await ask(server, `${other}${authority}`)).toEqual([undefined, undefined]);
  });

  it("is refused, and ends nothing else, where the bundle has a certificate that cannot be read", async () => {
    const { authority, ...server } = issue("/");
    const other = issue("/").authority;
    const unreadable = "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n";
    expect(await ask(server, `${other}${unreadable}`)).toEqual([UNTRUSTED, UNTRUSTED]);
    expect(await ask(server, `${authority}${unreadable}`)).toEqual([undefined, undefined]);
  });

  it.each<[string, Issue, string]>([
    ["whose authority is none", { authority: "CA:FALSE" }, "is not signed by a trusted CA"],
    [
      "whose authority is one for other names",
      { authority: "CA:TRUE\nnameConstraints=critical,permitted;DNS:example.com" },
      "is not signed by a trusted CA",
    ],
    ["for clients", { extensions: "extendedKeyUsage=clientAuth\n" }, "is not a server certificate"],
    ["that has expired", { days: "-1" }, "has expired"],
  ])("is not trusted with one %s", async (_, options, why) => {
    const { authority, ...server } = issue("/", options);
    const fault = expect.stringContaining(`its certificate ${why}`);
    expect(await ask(server, authority)).toEqual([fault, fault]);
  });

  it("is not trusted under another name", async () => {
    const { authority, ...server } = issue("/");
    const fault = expect.stringContaining("its certificate is for another name");
    expect(await ask(server, authority, "127.0.0.1")).toEqual([fault, fault]);
  });
});
