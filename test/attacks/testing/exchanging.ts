// A server with trust rules, two issuers that it trusts, and what an attacker sends to its exchange of tokens.

import { readFile } from "node:fs/promises";
import { type Agent, request as httpsRequest } from "node:https";
import { type ServedIssuer, serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { type Answered, startAttacked } from "./attacking.ts";

export const AUDIENCE = "https://postern.example";
const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
export const JWT = "urn:ietf:params:oauth:token-type:jwt";

export type Exchanging = Awaited<ReturnType<typeof startExchanging>>;

export async function startExchanging(flags: readonly string[] = []) {
  const [issuer, other] = await Promise.all([serveIssuer(), serveIssuer()]);
  const server = await startAttacked(["--proxy-allowed-addresses", "127.0.0.1/32", ...flags]);
  const ca = await readFile(server.process.caFile);
  /** All that was sent, which must stand nowhere. */
  const sent = new Set<string>();
  let count = 0;
  await server.must({ path: "users", body: { metadata: { name: "bot" }, spec: { kind: "Bot" } } });

  const rule = (name: string, spec: object, path = "clustertrustrules"): Promise<any> =>
    server.must({
      path,
      body: {
        metadata: { name },
        spec: {
          issuer: placeOf(issuer),
          audiences: [AUDIENCE],
          claims: [{ claim: "repository_id", values: ["74"] }],
          user: "bot",
          scope: { projects: [{ project: "default" }] },
          ...spec,
        },
      },
    });
  const placeOf = ({ url, certificateAuthorityPem: certificateAuthority }: ServedIssuer) => ({
    url,
    certificateAuthority,
  });
  /** Each from an address of its own: addresses with many failures are held back. */
  const nextAddress = (): string => `127.0.${1 + (++count >> 7)}.${1 + (count & 127)}`;

  function exchange(
    token: string,
    more: { readonly [name: string]: string } = { audience: "main" },
    from = nextAddress(),
    agent: Agent | false = false,
  ): Promise<Pick<Answered, "status" | "body" | "text"> & { readonly retryAfter: string | undefined }> {
    const fields = { grant_type: GRANT, subject_token: token, subject_token_type: JWT, ...more };
    if (token.length > 100) sent.add(token.split(".")[2] || token);
    const body = new URLSearchParams(fields).toString();
    return new Promise((resolve, reject) => {
      const headers = {
        "content-type": "application/x-www-form-urlencoded",
        "content-length": Buffer.byteLength(body),
      };
      const options = { method: "POST", ca, agent, localAddress: from, headers };
      const request = httpsRequest(new URL("/oauth/token", server.process.url), options, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString();
          const retryAfter = response.headers["retry-after"];
          const parsed = text.startsWith("{") ? JSON.parse(text) : undefined;
          resolve({ status: response.statusCode ?? 0, text, body: parsed, retryAfter });
        });
      });
      request.on("error", (error) => {
        // Connections of strangers are ended after a while: the next request may be on its way just then.
        const isEnded = request.reusedSocket && (error as NodeJS.ErrnoException).code === "ECONNRESET";
        if (isEnded) resolve(exchange(token, more, from, agent));
        else reject(error);
      });
      request.end(body);
    });
  }

  await rule("main", {});
  await rule("others", { issuer: placeOf(other) });
  return {
    ...server,
    issuer,
    other,
    sent,
    rule,
    placeOf,
    exchange,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await Promise.all([issuer, other].map((each) => each[Symbol.asyncDispose]()));
    },
  };
}
