// A tenant cluster whose certificate API signs as kube-controller-manager does, by openssl: the organizations as one sorted, multi-valued
// relative name, texts as PrintableStrings where they fit. It verifies client certificates itself, and answers with the user it sees.
// Source: Go's crypto/x509/pkix (Name.ToRDNSequence); k8s.io/apiserver/pkg/authentication/request/x509/x509.go

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";

export type SigningCluster = AsyncDisposable & {
  readonly url: string;
  readonly kubeConfig: string;
  /** PEM of the last certificate that it has signed. */
  lastCertificate(): string;
  /** Overrides for the next certificates, instead of the values that their requests ask for. */
  signAs: { subject?: string; extensions?: "client" | "server" };
  /** Requests for certificates that are there. */
  readonly pending: ReadonlyMap<string, unknown>;
};

const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const TOKEN = "credential-of-the-platform";
/** 0x2002: PrintableString and UTF8String, the two that Go writes. */
const CONFIG = `[req]
distinguished_name = dn
string_mask = MASK:0x2002
[dn]
[client]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = clientAuth
[server]
basicConstraints = critical,CA:FALSE
extendedKeyUsage = serverAuth
`;

const openssl = (...args: readonly string[]): string =>
  execFileSync("openssl", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** `directory` takes the files of its authority. */
export async function serveSigningCluster(directory: string): Promise<SigningCluster> {
  const path = (name: string): string => join(directory, name);
  writeFileSync(path("openssl.cnf"), CONFIG);
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", path("ca.key")];
  const config = ["-config", path("openssl.cnf")];
  openssl(
    "req",
    "-x509",
    ...fresh,
    ...config,
    "-subj",
    "/CN=authority of the tenant",
    "-days",
    "2",
    "-out",
    path("ca.pem"),
  );

  const pending = new Map<string, any>();
  const signAs: SigningCluster["signAs"] = {};
  let last = "";
  let serial = 0;

  function sign(request: string): string {
    writeFileSync(path("request.pem"), request);
    const asked = openssl(
      "req",
      "-in",
      path("request.pem"),
      "-noout",
      "-subject",
      "-nameopt",
      "multiline,utf8,-esc_msb",
    );
    const valuesOf = (name: string) =>
      [...asked.matchAll(new RegExp(`^ +${name} += (.*)$`, "gm"))].map(([, value]) => value);
    const organizations = valuesOf("organizationName").map((value) => `O=${value?.replaceAll(/[/+\\]/g, "\\$&")}`);
    // openssl writes the members of a relative name in DER order, as Go does.
    const rdns = organizations.length === 0 ? "" : `/${organizations.join("+")}`;
    const subject = signAs.subject ?? `${rdns}/CN=${valuesOf("commonName")[0]}`;
    const by = ["-CA", path("ca.pem"), "-CAkey", path("ca.key"), "-set_serial", String(++serial), "-days", "1"];
    const extensions = ["-copy_extensions", "none", "-extensions", signAs.extensions ?? "client"];
    last = openssl(
      "req",
      "-x509",
      "-in",
      path("request.pem"),
      ...by,
      "-utf8",
      "-subj",
      subject,
      ...config,
      ...extensions,
    );
    return last;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (code: number, body: unknown): void => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const type = typeof body === "string" ? "text/plain" : "application/json";
      response.writeHead(code, { "content-type": type, "content-length": Buffer.byteLength(text) }).end(text);
    };
    const status = (code: number, reason: string) =>
      send(code, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason, code, message: reason });
    const url = new URL(request.url ?? "/", "https://cluster");
    const [name = "", subresource] = url.pathname.startsWith(`${CSRS}/`)
      ? url.pathname.slice(CSRS.length + 1).split("/")
      : [];
    if (url.pathname === "/whoami") {
      // Only names that TLS has verified with the authority count.
      const socket = request.socket as TLSSocket;
      const { subject } = socket.getPeerCertificate();
      if (!socket.authorized || subject === undefined) return status(401, "Unauthorized");
      return send(200, { username: subject.CN, groups: [subject.O].flat().filter((group) => group !== undefined) });
    }
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return status(401, "Unauthorized");
    if (url.pathname === "/readyz") return send(200, "ok");
    if (url.pathname === "/version") return send(200, { major: "1", minor: "32", gitVersion: "v1.32.0" });
    if (request.method === "POST" && url.pathname === CSRS) {
      const body = JSON.parse(await textOf(request));
      const created = {
        ...body,
        metadata: { ...body.metadata, name: `csr-${pending.size}-${serial}`, resourceVersion: "1" },
      };
      pending.set(created.metadata.name, created);
      return send(201, created);
    }
    const known = pending.get(name);
    if (known === undefined) return status(404, "NotFound");
    if (request.method === "PUT" && subresource === "approval") {
      const body = JSON.parse(await textOf(request));
      const certificate = Buffer.from(sign(Buffer.from(known.spec.request, "base64").toString())).toString("base64");
      pending.set(name, { ...body, status: { ...body.status, certificate } });
      return send(200, body);
    }
    if (request.method === "DELETE") pending.delete(name);
    return send(200, known);
  }

  const serving = createTestCertificate();
  const server = createServer(
    { ...serving, ca: readFileSync(path("ca.pem")), requestCert: true, rejectUnauthorized: false },
    (request, response) => void answer(request, response).catch((error) => response.destroy(error)),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cluster = { server: url, "certificate-authority-data": Buffer.from(serving.cert).toString("base64") };
  return {
    url,
    kubeConfig: JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "tenant", cluster }],
      users: [{ name: "tenant", user: { token: TOKEN } }],
      contexts: [{ name: "tenant", context: { cluster: "tenant", user: "tenant" } }],
      "current-context": "tenant",
    }),
    lastCertificate: () => last,
    signAs,
    pending,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
