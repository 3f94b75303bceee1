// A small HTTPS server with a certificate of its own, for the tests of this package.

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type TestServer = AsyncDisposable & {
  readonly url: string;
  readonly certificatePem: string;
  readonly keyPem: string;
  /** Every request so far, as `GET /path?query`. */
  readonly requests: string[];
  /** Sets the handler of the next requests. */
  respond(handler: (request: IncomingMessage, response: ServerResponse, body: string) => void): void;
};

export async function startTestServer(): Promise<TestServer> {
  const { certificatePem, keyPem } = createSelfSignedCertificate();
  const requests: string[] = [];
  let handler: (request: IncomingMessage, response: ServerResponse, body: string) => void = (_, response) =>
    response.end();
  const server = https.createServer(
    { cert: certificatePem, key: keyPem, ca: certificatePem, requestCert: true, rejectUnauthorized: false },
    async (request, response) => {
      requests.push(`${request.method} ${request.url}`);
      let body = "";
      for await (const chunk of request) body += chunk;
      handler(request, response, body);
    },
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    certificatePem,
    keyPem,
    requests,
    respond(next) {
      handler = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

export const sendJson = (
  response: ServerResponse,
  body: unknown,
  code = 200,
  headers: Record<string, string> = {},
): void => {
  response.writeHead(code, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
};

function createSelfSignedCertificate(): { certificatePem: string; keyPem: string } {
  const directory = mkdtempSync(join(tmpdir(), "postern-client-"));
  try {
    const [cert, key] = [join(directory, "tls.crt"), join(directory, "tls.key")];
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
        "-subj",
        "/CN=jane",
      ].concat(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert]),
      { stdio: "pipe" },
    );
    return { certificatePem: readFileSync(cert, "utf8"), keyPem: readFileSync(key, "utf8") };
  } finally {
    rmSync(directory, { recursive: true });
  }
}
