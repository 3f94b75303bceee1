// Reads the kubeconfig of a cluster from a Secret. It must not refer to files or commands.

import { isIP } from "node:net";
import type { ApiError } from "@postern/apimachinery/meta/api-error";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import { expectYamlWithinDepth } from "@postern/apimachinery/yaml/tokens-within-depth";
import {
  KubeconfigError,
  type KubeconfigUser,
  type PemSource,
  parseKubeconfig,
  resolveContext,
} from "@postern/client/kubeconfig";
import { parseUrl } from "../../../foundation/kubeconfig/normalize-server.ts";
import { badGatewayError } from "../../../foundation/upstream/upstream-failure.ts";
import type { UpstreamCredential, UpstreamTarget } from "../../../foundation/upstream/upstream-target.ts";

const ORIGIN = "the kubeconfig of the cluster";
const MAX_DEPTH = 100;
/** A file with one context has about 200. Each may be long, such as a certificate. The parser compares the keys of a mapping with each other. */
const MAX_LEXEMES = 10_000;

/**
 * The target of its current context. `loopbackServer` replaces a server named localhost, which is meant for a
 * port-forward. Throws ApiError 502 with the reason, and without a credential.
 */
export function targetOfKubeconfig(text: string, loopbackServer?: string): UpstreamTarget {
  try {
    checkSize(text);
    const config = parseKubeconfig(text, ORIGIN);
    if (config.currentContext === "") throw new KubeconfigError(`${ORIGIN}: it has no current-context`);
    const { cluster, user } = resolveContext(config);
    const server = normalizedServer(cluster.server);
    const isLoopback = loopbackServer !== undefined && isLoopbackHost(new URL(server).hostname);
    return {
      server: isLoopback ? loopbackServer : server,
      ...(cluster.certificateAuthority === undefined
        ? {}
        : { certificateAuthorityPem: pemOf(cluster.certificateAuthority, "certificate-authority") }),
      ...(cluster.tlsServerName === undefined ? {} : { tlsServerName: cluster.tlsServerName }),
      ...(cluster.insecureSkipTlsVerify ? { insecureSkipTlsVerify: true } : {}),
      credential: credentialOf(user),
    };
  } catch (error) {
    if (error instanceof KubeconfigError) throw invalidKubeconfigError(error.message, error);
    throw error;
  }
}

/** Tenants write it, and it is parsed in one turn. Throws KubeconfigError. */
function checkSize(text: string): void {
  try {
    expectYamlWithinDepth(text, MAX_DEPTH, MAX_LEXEMES);
  } catch (cause) {
    throw new KubeconfigError(`${ORIGIN} is not valid YAML, or has too many values`, { cause });
  }
}

export const invalidKubeconfigError = (message: string, cause?: unknown): ApiError =>
  badGatewayError({ reason: "KubeConfigInvalid", message }, cause);

function normalizedServer(server: string): string {
  const url = parseUrl(server.includes("://") ? server : `https://${server}`);
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:";
  if (url === undefined || !isWeb || url.username !== "" || url.password !== "") {
    throw new KubeconfigError(`${ORIGIN}: its server is not an http or https URL`);
  }
  return `${url.origin}${trimTrailing(url.pathname, "/")}`;
}

function credentialOf({
  token,
  tokenFile,
  clientCertificate,
  clientKey,
  unsupported,
}: KubeconfigUser): UpstreamCredential {
  const [way] = unsupported;
  // A command in the file would run with the platform's permissions.
  if (way !== undefined)
    throw new KubeconfigError(
      `${ORIGIN}: it authenticates with ${way}, which is not supported: use a token or a client certificate`,
    );
  if (tokenFile !== undefined)
    throw new KubeconfigError(`${ORIGIN}: it refers to a file for the token: include the token`);
  if ((clientCertificate === undefined) !== (clientKey === undefined)) {
    throw new KubeconfigError(
      `${ORIGIN}: it has a client certificate without its key, or a key without its certificate`,
    );
  }
  if (token === undefined && clientCertificate === undefined) {
    throw new KubeconfigError(`${ORIGIN}: it has no credential: neither a token nor a client certificate`);
  }
  return {
    ...(token === undefined ? {} : { bearerToken: bearerToken(token) }),
    ...(clientCertificate === undefined || clientKey === undefined
      ? {}
      : {
          clientCertificate: {
            certificatePem: pemOf(clientCertificate, "client-certificate"),
            privateKeyPem: pemOf(clientKey, "client-key"),
          },
        }),
  };
}

/** RFC 6750, section 2.1, strictly: it is sent in a header. */
function bearerToken(token: string): string {
  if (!/^[A-Za-z0-9\-._~+/:]+=*$/.test(token)) throw new KubeconfigError(`${ORIGIN}: its token is not valid`);
  return token;
}

function pemOf(source: PemSource, name: string): string {
  if ("pem" in source) return source.pem;
  throw new KubeconfigError(`${ORIGIN}: it refers to a file for ${name}: use ${name}-data`);
}

function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  // A URL spells 127.0.0.0/8 inside of IPv6 in hexadecimal.
  return (
    host === "localhost" ||
    host === "::1" ||
    /^::ffff:7f[0-9a-f]{2}:/.test(host) ||
    (isIP(host) === 4 && host.startsWith("127."))
  );
}
