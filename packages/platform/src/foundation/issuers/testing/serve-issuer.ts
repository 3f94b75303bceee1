// An issuer of OIDC tokens on a real TLS socket, with keys of its own, which publishes whatever a test says.

import { KeyObject, sign as signBytes } from "node:crypto";
import type { RequestListener } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

export type IssuerSigningKey = {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  /** As it is published. */
  readonly jwk: JWK;
};

export type ServedIssuer = AsyncDisposable & {
  /** Its `iss`, and where it is. */
  readonly url: string;
  /** PEM of what verifies its server. */
  readonly certificateAuthorityPem: string;
  /** Those that it publishes; a test may put others there. */
  keys: IssuerSigningKey[];
  /** Answers instead of the issuer where it is set. */
  intercept: RequestListener | undefined;
  /** Paths of the requests that came in. */
  readonly requests: string[];
  /** The text of its key set. */
  keySet(): string;
  /** A token of five minutes with these claims beside iss, iat, nbf and exp. */
  sign(claims: object, options?: SignOptions): Promise<string>;
};

export type SignOptions = {
  readonly key?: IssuerSigningKey;
  /** Members of the header beside alg, kid and typ. */
  readonly header?: object;
  /** Seconds from now. */
  readonly expiresIn?: number;
};

let count = 0;

/** A token of any texts, signed with RS256 whatever its header says. */
export function signTexts(
  header: string,
  payload: string,
  { privateKey }: Pick<IssuerSigningKey, "privateKey">,
): string {
  const content = `${encode(header)}.${encode(payload)}`;
  const signature = signBytes("sha256", Buffer.from(content), KeyObject.from(privateKey));
  return `${content}.${signature.toString("base64url")}`;
}

export const encode = (text: string): string => Buffer.from(text).toString("base64url");

export async function newSigningKey(alg = "RS256"): Promise<IssuerSigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const kid = `key-${++count}`;
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: "sig" } };
}

/** A token of five minutes from that issuer, with these claims beside iss, iat, nbf and exp. */
export async function signClaims(
  iss: string,
  claims: object,
  { alg, kid, privateKey }: IssuerSigningKey,
  { header = {}, expiresIn = 300 }: Omit<SignOptions, "key"> = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const payload = { iss, iat: now, nbf: now - 5, exp: now + expiresIn, ...claims };
  return await new SignJWT(payload).setProtectedHeader({ typ: "JWT", alg, kid, ...header }).sign(privateKey);
}

export async function serveIssuer({ path = "", alg = "RS256" } = {}): Promise<ServedIssuer> {
  const certificate = createTestCertificate();
  const server = createServer({ ...certificate }, (request, response) => {
    requests.push(request.url ?? "");
    if (issuer.intercept !== undefined) return void issuer.intercept(request, response);
    const documents: { readonly [path: string]: () => string } = {
      [`${path}/.well-known/openid-configuration`]: () =>
        JSON.stringify({
          issuer: issuer.url,
          jwks_uri: `${origin}/keys`,
          id_token_signing_alg_values_supported: [alg],
        }),
      "/keys": () => issuer.keySet(),
    };
    const document = documents[request.url ?? ""];
    response.writeHead(document === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(document?.() ?? "");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const requests: string[] = [];
  const issuer: ServedIssuer = {
    url: `${origin}${path}`,
    certificateAuthorityPem: certificate.cert,
    keys: [await newSigningKey(alg)],
    intercept: undefined,
    requests,
    keySet: () => JSON.stringify({ keys: issuer.keys.map(({ jwk }) => jwk) }),
    async sign(claims, { key = issuer.keys[0], ...options } = {}) {
      if (key === undefined) throw new Error("the issuer has no key");
      return await signClaims(issuer.url, claims, key, options);
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return issuer;
}
