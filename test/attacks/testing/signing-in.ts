// A browser without a window, and an identity provider that says what a test wants.

import { randomBytes } from "node:crypto";
import { request as httpsRequest } from "node:https";
import type { ServedIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";

export type PageAnswer = {
  readonly status: number;
  readonly location: string;
  readonly text: string;
  readonly headers: import("node:http").IncomingHttpHeaders;
  readonly cookies: Map<string, string>;
};

export type Browse = (
  path: string,
  cookies?: ReadonlyMap<string, string>,
  form?: { readonly [name: string]: string },
  headers?: { readonly [name: string]: string },
) => Promise<PageAnswer>;

export const SESSION = "__Host-session";
/** Headers of a browser's request that a page of the server itself makes. */
export const OWN = { "sec-fetch-site": "same-origin" };

export const csrfIn = ({ text }: PageAnswer): string => /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";

/** GETs, and POSTs with a form. The cookies of an answer are those of the request with what it sets. */
export const browserOf =
  (url: string, ca: Buffer, localAddress?: string): Browse =>
  (path, cookies = new Map(), form, headers = {}) => {
    const body = form === undefined ? undefined : new URLSearchParams(form).toString();
    return new Promise((resolve, reject) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const request = httpsRequest(
        new URL(path, url),
        {
          method: body === undefined ? "GET" : "POST",
          ca,
          ...(localAddress === undefined ? {} : { localAddress }),
          headers: {
            ...(cookie === "" ? {} : { cookie }),
            ...(body === undefined
              ? {}
              : { "content-type": "application/x-www-form-urlencoded", "content-length": Buffer.byteLength(body) }),
            ...headers,
          },
        },
        (response) => {
          const kept = new Map(cookies);
          for (const line of response.headers["set-cookie"] ?? []) {
            const [pair = ""] = line.split(";");
            const at = pair.indexOf("=");
            if (pair.slice(at + 1) === "") kept.delete(pair.slice(0, at));
            else kept.set(pair.slice(0, at), pair.slice(at + 1));
          }
          let text = "";
          response.on("data", (part) => (text += part));
          response.on("error", reject);
          response.on("end", () => {
            const { statusCode: status = 0, headers: answered } = response;
            resolve({ status, location: answered.location ?? "", text, headers: answered, cookies: kept });
          });
        },
      );
      request.on("error", reject);
      request.end(body);
    });
  };

/** Of a code: the ID token that the token endpoint gives. */
type TokenFor = (code: string) => Promise<string>;

/** Makes an issuer a provider, at the same address as its keys. A code is taken once. */
export function provideSignIn(issuer: ServedIssuer, tokenFor: TokenFor): void {
  const codes = new Set<string>();
  issuer.intercept = (request, response) => {
    const path = (request.url ?? "").split("?")[0];
    const say = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    if (path === "/.well-known/openid-configuration")
      return say(200, {
        issuer: issuer.url,
        authorization_endpoint: `${issuer.url}/authorize`,
        token_endpoint: `${issuer.url}/token`,
        jwks_uri: `${issuer.url}/keys`,
        response_types_supported: ["code"],
        id_token_signing_alg_values_supported: ["RS256"],
        authorization_response_iss_parameter_supported: true,
      });
    if (path === "/keys") return say(200, JSON.parse(issuer.keySet()));
    let form = "";
    request.on("data", (part) => (form += part));
    request.on("end", () => {
      const code = new URLSearchParams(form).get("code") ?? "";
      if (codes.has(code)) return say(400, { error: "invalid_grant" });
      codes.add(code);
      void tokenFor(code).then((token) =>
        say(200, { access_token: randomBytes(16).toString("hex"), token_type: "Bearer", id_token: token }),
      );
    });
  };
}
