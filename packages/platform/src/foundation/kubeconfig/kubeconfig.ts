// Writes kubeconfigs: one cluster, one user and one context of the same name.
// Source: k8s.io/client-go/tools/clientcmd/api/v1/types.go

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";

/** A client that keeps its private key puts it beside the certificate itself. Without any, the client brings a credential of its own. */
export type KubeconfigCredential =
  | { readonly token: string }
  | { readonly clientCertificatePem: string; readonly clientKeyPem: string | undefined }
  | undefined;

export type KubeconfigParts = {
  /** Base URL of the API, as `normalizeServer` gives it. */
  readonly server: string;
  /** PEM bundle; absent when the server's certificate comes from a public authority. */
  readonly certificateAuthorityPem?: string;
  /** Only for a cluster that is configured so: the client then trusts any server, and no authority is written. */
  readonly insecureSkipTlsVerify?: boolean;
  readonly credential: KubeconfigCredential;
  /** The context's namespace. */
  readonly namespace?: string;
  /** The name of cluster, user and context: files of different names can be used together, `KUBECONFIG=a:b`. */
  readonly name: string;
};

/** The YAML document. Secrets in it: the token, or the client key. */
export function buildKubeconfig(parts: KubeconfigParts): string {
  const name = writeYamlScalar(parts.name);
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    "- cluster:",
    ...trustLines(parts),
    `    server: ${writeYamlScalar(parts.server)}`,
    `  name: ${name}`,
    "contexts:",
    "- context:",
    `    cluster: ${name}`,
    ...(parts.namespace === undefined ? [] : [`    namespace: ${writeYamlScalar(parts.namespace)}`]),
    `    user: ${name}`,
    `  name: ${name}`,
    `current-context: ${name}`,
    "preferences: {}",
    "users:",
    `- name: ${name}`,
    ...userLines(parts.credential),
    "",
  ].join("\n");
}

/** kubectl refuses a file that has both an authority and the insecure mark. */
function trustLines({ insecureSkipTlsVerify = false, certificateAuthorityPem }: KubeconfigParts): readonly string[] {
  if (insecureSkipTlsVerify) return ["    insecure-skip-tls-verify: true"];
  if (certificateAuthorityPem === undefined) return [];
  return [`    certificate-authority-data: ${toBase64(certificateAuthorityPem)}`];
}

function userLines(credential: KubeconfigCredential): readonly string[] {
  if (credential === undefined) return ["  user: {}"];
  if ("token" in credential) return ["  user:", `    token: ${writeYamlScalar(credential.token)}`];
  const { clientCertificatePem, clientKeyPem } = credential;
  const lines = ["  user:", `    client-certificate-data: ${toBase64(clientCertificatePem)}`];
  return clientKeyPem === undefined ? lines : [...lines, `    client-key-data: ${toBase64(clientKeyPem)}`];
}

const toBase64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");

// Writes a text as a YAML scalar that every reader of kubeconfigs takes for the same text.
//
// kubectl reads YAML 1.1, other clients 1.2: what either could take for a number, a boolean or a date, and every
// character that either refuses or drops, has to be quoted. The `yaml` library leaves some of those bare (`0o7`, DEL, NEL).

/** Starts with a letter and holds nothing that YAML reads as syntax; `://` is the only colon followed by no name. */
const PLAIN = /^[A-Za-z](?:[A-Za-z0-9_./@=+-]|:(?=[^\s]))*$/;
/** YAML 1.1 booleans and nulls in any case; anything else made of letters is text. */
const KEYWORD = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

/** The scalar: plain where that is safe, else in double quotes with everything unusual escaped. */
export function writeYamlScalar(text: string): string {
  if (PLAIN.test(text) && !KEYWORD.test(text)) return text;
  let quoted = '"';
  for (const char of text) quoted += quoteCharacter(char);
  return `${quoted}"`;
}

function quoteCharacter(char: string): string {
  if (char === '"' || char === "\\") return `\\${char}`;
  const code = char.codePointAt(0) ?? 0;
  if (code >= 0x20 && code < 0x7f) return char;
  if (code > 0xffff) return `\\U${code.toString(16).padStart(8, "0")}`;
  // Half a surrogate pair is no character: readers refuse it even when escaped.
  const scalar = code >= 0xd800 && code <= 0xdfff ? 0xfffd : code;
  return `\\u${scalar.toString(16).padStart(4, "0")}`;
}

// Reads a server address that a client wants in its kubeconfig. It is only ever written into the file, never dialled.

const MAX_LENGTH = 2048;
/** Scheme, authority and path. No user info, query, fragment, space or backslash: a kubeconfig has no use for them. */
const SERVER =
  /^(?:([A-Za-z][A-Za-z0-9+.-]*):\/\/)?((?:\[[0-9A-Fa-f:.]+\]|[^\s/?#@\\:[\]]+)(?::(\d{1,5}))?)(\/[^\s?#\\]*)?$/;

const RULE =
  "must be a host, host:port or URL such as https://vcluster.example.com:8443, without user, query and fragment";

/**
 * The address in its normal form: `https` where no scheme is given, scheme and host in lower case, no slash at the end.
 * Undefined for what `validateServer` refuses.
 */
export function normalizeServer(server: string): string | undefined {
  const match = server.length > MAX_LENGTH ? null : SERVER.exec(server);
  if (match === null) return undefined;
  const [, scheme = "https", authority = "", port, path = ""] = match;
  const protocol = scheme.toLowerCase();
  if (protocol !== "https" && protocol !== "http") return undefined;
  const url = parseUrl(`${protocol}://${authority}${path}`);
  if (url === undefined || url.hostname === "") return undefined;
  // The URL parser drops a port that is the scheme's default; the file keeps what was asked for.
  return `${protocol}://${url.hostname}${port === undefined ? "" : `:${Number(port)}`}${trimTrailing(url.pathname, "/")}`;
}

/** The faults of an address in the field of that path; none when it can be normalised. */
export function validateServer(server: string, field = "spec.server"): readonly FieldError[] {
  if (normalizeServer(server) !== undefined) return [];
  // Text before an @ may be a password.
  return [invalidError(field, server.includes("@") ? "<hidden>" : server, RULE)];
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
