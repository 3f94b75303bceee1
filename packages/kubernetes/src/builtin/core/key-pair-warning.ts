// The warning about a certificate and a private key that do not belong together.
// Source: crypto/tls (X509KeyPair) of Go

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { quoteGo } from "@postern/apimachinery/text/go-quote";

const BLOCK = /-----BEGIN ([^\r\n-]+)-----\r?\n[A-Za-z0-9+/=\r\n]*-----END ([^\r\n-]+)-----/g;

type Block = { readonly type: string; readonly text: string };

const blocksOf = (text: string): readonly Block[] =>
  [...text.matchAll(BLOCK)].flatMap(([whole, type = "", end]) => (type === end ? [{ type, text: whole }] : []));

const typesOf = (blocks: readonly Block[]): string => `[${blocks.map(({ type }) => type).join(" ")}]`;

const isKey = ({ type }: Block): boolean => type === "PRIVATE KEY" || type.endsWith(" PRIVATE KEY");

/** Both in PEM. Undefined where they fit. A certificate that cannot be read has a text of our own. */
export function keyPairWarning(certificate: string, key: string): string | undefined {
  const blocks = blocksOf(certificate);
  const first = blocks.find(({ type }) => type === "CERTIFICATE");
  if (first === undefined) return noCertificate(blocks);
  const keys = blocksOf(key);
  const own = keys.find(isKey);
  if (own === undefined) return noKey(keys);
  const publicKey = readAs(() => new X509Certificate(first.text).publicKey);
  if (publicKey === undefined) return "x509: malformed certificate";
  const privateKey = readAs(() => createPrivateKey(own.text));
  if (privateKey === undefined) return "tls: failed to parse private key";
  if (publicKey.asymmetricKeyType !== privateKey.asymmetricKeyType)
    return "tls: private key type does not match public key type";
  return readAs(() => new X509Certificate(first.text).checkPrivateKey(privateKey)) === true
    ? undefined
    : "tls: private key does not match public key";
}

function readAs<T extends KeyObject | boolean>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function noCertificate(blocks: readonly Block[]): string {
  const [only] = blocks;
  if (only === undefined) return "tls: failed to find any PEM data in certificate input";
  if (blocks.length === 1 && only.type.endsWith("PRIVATE KEY")) {
    return "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched";
  }
  return `tls: failed to find ${quoteGo("CERTIFICATE")} PEM block in certificate input after skipping PEM blocks of the following types: ${typesOf(blocks)}`;
}

function noKey(blocks: readonly Block[]): string {
  const [only] = blocks;
  if (only === undefined) return "tls: failed to find any PEM data in key input";
  if (blocks.length === 1 && only.type === "CERTIFICATE")
    return "tls: found a certificate rather than a key in the PEM for the private key";
  return `tls: failed to find PEM block with type ending in ${quoteGo("PRIVATE KEY")} in key input after skipping PEM blocks of the following types: ${typesOf(blocks)}`;
}
