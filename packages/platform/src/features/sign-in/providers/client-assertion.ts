// Authenticates the platform at an identity provider by a signed assertion in place of a secret: made with a key of its own, or read from a file.
// Source: RFC 7523 sections 2.2 and 3, RFC 7521 section 4.2

import { sign } from "node:crypto";
import { open } from "node:fs/promises";
import type { IdentityProviderSpec } from "@postern/api/identity-provider";
import type { Clock, Random } from "@postern/apiserver/runtime/clock";
import { decodeToken, TokenError } from "../../../foundation/issuers/signed-token.ts";
import type { ClientKeys, ClientSigner } from "./client-keys.ts";
import { ProviderError } from "./provider-faults.ts";
import type { IdentityProviderState } from "./provider-state.ts";

export const JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** Each is used once, at once. */
const ASSERTION_SECONDS = 60;
const MAX_FILE_BYTES = 64 * 1024;

export type ClientAssertions = {
  /** The assertion of the next request to the token endpoint. Rejects with ProviderError where there can be none. */
  assertionFor(provider: IdentityProviderState, tokenEndpoint: string): Promise<string>;
};

export type ClientAssertionDeps = {
  readonly keys: Pick<ClientKeys, "signer">;
  /** Files with tokens of others for this server, by issuer. Administrators of the API name no file. */
  readonly tokenFiles: ReadonlyMap<string, string>;
  readonly clock: Pick<Clock, "now">;
  readonly random: Random;
};

/** Whether the client authenticates with an assertion. */
export const usesAssertion = ({ clientAuthentication }: Pick<IdentityProviderSpec, "clientAuthentication">): boolean =>
  clientAuthentication === "PrivateKeyJWT" || clientAuthentication === "FederatedToken";

export function createClientAssertions({ keys, tokenFiles, clock, random }: ClientAssertionDeps): ClientAssertions {
  const signed = async ({ spec, source }: IdentityProviderState, tokenEndpoint: string): Promise<string> => {
    const { algorithm = "ES256", audience = "Issuer" } = spec.clientAssertion ?? {};
    if (audience === "Issuer")
      checkPlace(source.issuer, tokenEndpoint, ": set spec.clientAssertion.audience to TokenEndpoint");
    const now = Math.floor(clock.now() / 1000);
    const claims = {
      iss: spec.clientId,
      sub: spec.clientId,
      aud: audience === "Issuer" ? source.issuer : tokenEndpoint,
      jti: Buffer.from(random.bytes(16)).toString("base64url"),
      iat: now,
      exp: now + ASSERTION_SECONDS,
    };
    return signedToken(claims, await keys.signer(algorithm));
  };

  const federated = async ({ source: { issuer } }: IdentityProviderState, tokenEndpoint: string): Promise<string> => {
    const file = tokenFiles.get(issuer);
    if (file === undefined)
      throw new ProviderError(
        "this server has no federated token for this issuer: an administrator of the server has to add it to --federated-token-file",
      );
    // Otherwise administrators of the API could have the token of the server sent to themselves.
    checkPlace(issuer, tokenEndpoint, "");
    const token = await readToken(file);
    let expiresAt: number;
    try {
      ({ expiresAt } = decodeToken(token, { maxLength: MAX_FILE_BYTES }));
    } catch (error) {
      if (error instanceof TokenError)
        throw new ProviderError(`the federated token of this server is none: ${error.message}`);
      throw error;
    }
    if (expiresAt <= clock.now()) throw new ProviderError("the federated token of this server has expired");
    return token;
  };

  return {
    assertionFor: (provider, tokenEndpoint) =>
      provider.spec.clientAuthentication === "FederatedToken"
        ? federated(provider, tokenEndpoint)
        : signed(provider, tokenEndpoint),
  };
}

/** An assertion for the issuer is sent to the issuer alone: another receiver could use it there. */
function checkPlace(issuer: string, tokenEndpoint: string, remedy: string): void {
  if (!URL.canParse(tokenEndpoint) || new URL(tokenEndpoint).origin !== new URL(issuer).origin)
    throw new ProviderError(`its token endpoint is not at the address of the issuer${remedy}`);
}

/** Read anew for each request: its issuer replaces it in time. The path is not for administrators of the API. */
async function readToken(path: string): Promise<string> {
  try {
    const file = await open(path);
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_FILE_BYTES + 1), 0, MAX_FILE_BYTES + 1, 0);
      return buffer.toString("utf8", 0, bytesRead).trim();
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
    throw new ProviderError(`the federated token of this server cannot be read${code}`, { cause: error });
  }
}

function signedToken(claims: object, { id, algorithm, key }: ClientSigner): string {
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const content = `${encode({ alg: algorithm, kid: id, typ: "JWT" })}.${encode(claims)}`;
  const signature = sign(
    "sha256",
    Buffer.from(content),
    algorithm === "ES256" ? { key, dsaEncoding: "ieee-p1363" } : key,
  );
  return `${content}.${signature.toString("base64url")}`;
}
