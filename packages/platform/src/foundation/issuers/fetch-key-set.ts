// Fetches the discovery document and key set of an issuer: over TLS, from addresses that the rules allow, and without following redirects.
// Source: OpenID Connect Discovery 1.0, sections 4.2 and 4.3

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { withoutInvisible } from "../kinds/readable-name.ts";
import type { AddressRules } from "../upstream/address-rules.ts";
import { createUpstreamConnections } from "../upstream/upstream-connections.ts";
import { faultOf } from "../upstream/upstream-failure.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import { FetchError, type FetchKeySet } from "./issuer-keys.ts";
import type { IssuerSource } from "./issuer-source.ts";

/** Where documents are, and what verifies their servers. */
export type IssuerPlace = Pick<IssuerSource, "issuer" | "discoveryURL" | "certificateAuthorityPem" | "isTenants">;

export type FetchKeySetDeps = {
  readonly scheduler: Scheduler;
  /** For issuers that administrators of the platform name. */
  readonly addresses: AddressRules;
  /** For those that projects name. */
  readonly tenantAddresses: AddressRules;
  readonly userAgent: string;
};

const CONFIGURATION_PATH = "/.well-known/openid-configuration";
export const MAX_DOCUMENT_BYTES = 256 * 1024;
export const ISSUER_LIMITS = {
  maxConnections: 2,
  maxUpgrades: 0,
  connectTimeoutMs: 5_000,
  responseTimeoutMs: 10_000,
  idleTimeoutMs: 1_000,
};
const MAX_DEPTH = 20;
/** Characters of an issuer that are shown. */
const MAX_NAMED = 200;

export function createFetchKeySet(deps: FetchKeySetDeps): FetchKeySet {
  return async (source, signal) => {
    const start = discoveryUrlOf(source);
    const read = (what: string, url: URL): Promise<string> => {
      // A document may lead to its own server, and elsewhere only to public addresses.
      const addresses = source.isTenants || url.origin !== start.origin ? deps.tenantAddresses : deps.addresses;
      return readDocument(what, url, source, { ...deps, addresses }, signal);
    };
    const document = await read("its discovery document", start);
    const { issuer, jwks_uri: place } = parseDocument(document);
    // Another issuer's document would lend its keys to this one's name.
    if (issuer !== source.issuer) {
      const found =
        typeof issuer === "string" ? `the issuer ${withoutInvisible(issuer).slice(0, MAX_NAMED)}` : "no issuer";
      throw new FetchError(`its discovery document is for ${found}, not ${source.issuer}`);
    }
    if (typeof place !== "string") throw new FetchError("its discovery document names no jwks_uri");
    return await read("its key set", httpsUrl(place, "the jwks_uri in its discovery document"));
  };
}

export function discoveryUrlOf({ issuer, discoveryURL }: IssuerPlace): URL {
  if (discoveryURL !== undefined) return httpsUrl(discoveryURL, "its discoveryURL");
  return httpsUrl(`${issuer.replace(/\/$/, "")}${CONFIGURATION_PATH}`, "its url");
}

export function httpsUrl(text: string, what: string): URL {
  if (!URL.canParse(text)) throw new FetchError(`${what} is no URL`);
  const url = new URL(text);
  if (url.protocol !== "https:") throw new FetchError(`${what} does not start with https://`);
  if (url.username !== "" || url.password !== "") throw new FetchError(`${what} has a user or a password in it`);
  return url;
}

function parseDocument(text: string): JsonObject {
  try {
    const value = parseJson(text, { maxDepth: MAX_DEPTH });
    if (isJsonObject(value)) return value;
  } catch {
    // Said below.
  }
  throw new FetchError("its discovery document is no JSON object");
}

async function readDocument(
  what: string,
  { origin, pathname, search }: URL,
  { certificateAuthorityPem }: IssuerSource,
  { scheduler, addresses, userAgent }: Omit<FetchKeySetDeps, "tenantAddresses">,
  signal: AbortSignal,
): Promise<string> {
  try {
    using connections = createUpstreamConnections(
      { server: origin, credential: {}, ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }) },
      { scheduler, addresses, limits: ISSUER_LIMITS },
    );
    const headers = { accept: "application/json", "user-agent": userAgent };
    const response = await connections.send({ method: "GET", path: `${pathname}${search}`, headers, signal });
    const { statusCode } = response;
    if (statusCode !== 200) {
      response.destroy();
      const redirects = statusCode >= 300 && statusCode < 400;
      throw new FetchError(
        `${what} responded with code ${statusCode}${redirects ? ", and redirects are not followed" : ""}`,
      );
    }
    return await textOf(response, what);
  } catch (error) {
    if (error instanceof FetchError || signal.aborted) throw error;
    if (isTimeout(error)) throw new FetchError(`${what} ${TOO_LATE}`, { cause: error });
    if (isApiError(error))
      throw new FetchError(`${what} cannot be fetched: ${faultOf(error).message}`, { cause: error });
    // It broke off in the middle, or OpenSSL does not read the certificates that the rule gives.
    throw new FetchError(`${what} could not be read`, { cause: error });
  }
}

const TOO_LATE = `did not arrive within ${ISSUER_LIMITS.responseTimeoutMs / 1_000} seconds`;
const isTimeout = (error: unknown): boolean => isApiError(error) && error.code === 504;

/** Rejects with FetchError where it is too long, or the time for it is over, and with the error of a connection that broke. */
export async function textOf(
  response: UpstreamResponse,
  what: string,
  maxBytes: number = MAX_DOCUMENT_BYTES,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const bytes of response) {
      size += bytes.length;
      if (size > maxBytes) throw new FetchError(`${what} has more than ${maxBytes} bytes`);
      chunks.push(bytes);
    }
  } catch (error) {
    throw isTimeout(error) ? new FetchError(`${what} ${TOO_LATE}`, { cause: error }) : error;
  }
  return Buffer.concat(chunks).toString("utf8");
}
