// An admission webhook on a real TLS socket, which answers as a test defines, and records its requests.

import { generateKeyPairSync } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { readAll } from "@postern/apiserver/transport/testing/test-clients";
import { createCertificateAuthority } from "../../../../foundation/pki/certificate-authority.ts";
import { signServingCertificate } from "../../../../foundation/pki/serving-certificate.ts";

export type AskedReview = { readonly path: string; readonly review: any };

/** Answer as `response` of the review; the uid is filled in. */
type Answer = (request: any) => object;
/** Answers by itself. */
type RawAnswer = (request: IncomingMessage, response: ServerResponse, review: any) => void;

export type WebhookServer = AsyncDisposable & {
  readonly url: string;
  readonly port: number;
  /** Base64 of the PEM of its authority, as configurations have it. */
  readonly caBundle: string;
  readonly asked: AskedReview[];
  /** By path. */
  readonly answers: Map<string, Answer>;
  readonly raw: Map<string, RawAnswer>;
};

/** Of JSON patches. */
export const patching = (...operations: readonly object[]) => ({
  allowed: true,
  patchType: "JSONPatch",
  patch: Buffer.from(JSON.stringify(operations)).toString("base64"),
});

/** Answers a ConversionReview with what `convert` makes of each object. */
export const converting =
  (convert: (object: any, desiredAPIVersion: string) => object) =>
  (_request: IncomingMessage, response: ServerResponse, review: any): void => {
    const { uid, objects, desiredAPIVersion } = review.request;
    const convertedObjects = objects.map((object: any) => convert(object, desiredAPIVersion));
    const { apiVersion, kind } = review;
    const answer = { uid, result: { status: "Success" }, convertedObjects };
    response.end(JSON.stringify({ apiVersion, kind, response: answer }));
  };

export async function startWebhookServer(names: readonly string[] = []): Promise<WebhookServer> {
  const { clock, random } = systemRuntime;
  const authority = createCertificateAuthority({ commonName: "webhooks", clock, random });
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const cert = signServingCertificate({
    authority,
    names: ["127.0.0.1", "localhost", ...names],
    clock,
    random,
    publicKey,
  });
  const asked: AskedReview[] = [];
  const answers = new Map<string, Answer>();
  const raw = new Map<string, RawAnswer>();
  const key = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const server = createServer({ cert, key }, async (request, response) => {
    const path = new URL(request.url ?? "/", "https://webhook").pathname;
    const review = JSON.parse(await readAll(request));
    asked.push({ path, review });
    const own = raw.get(path);
    if (own !== undefined) return own(request, response, review);
    const answer = answers.get(path)?.(review.request) ?? { allowed: true };
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        apiVersion: review.apiVersion,
        kind: review.kind,
        response: { uid: review.request.uid, ...answer },
      }),
    );
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    caBundle: Buffer.from(authority.certificatePem).toString("base64"),
    asked,
    answers,
    raw,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
