// Validates how an issuer of tokens is reached: the fields that trust rules and identity providers have in common.

import { X509Certificate } from "node:crypto";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";

/** Characters. */
export const MAX_ISSUER_URL = 2_048;
const MAX_CERTIFICATES = 64 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

export function validateIssuerAddress(
  text: string,
  path: string,
  { mayHaveQuery = false }: { readonly mayHaveQuery?: boolean } = {},
): readonly FieldError[] {
  const refuse = (why: string): readonly FieldError[] => [invalidError(path, text.slice(0, MAX_ISSUER_URL), why)];
  if (!URL.canParse(text) || text.length > MAX_ISSUER_URL) return refuse("must be a URL");
  const { protocol, username, password, hash, search } = new URL(text);
  if (protocol !== "https:") return refuse("must begin with https://");
  if (username !== "" || password !== "")
    return [invalidError(path, "<hidden>", "must not have a user or a password in it")];
  if (hash !== "" || (search !== "" && !mayHaveQuery)) return refuse("must not have a query or a fragment");
  return [];
}

export function validateIssuerCertificates(text: string, path: string): readonly FieldError[] {
  const refuse = (why: string): readonly FieldError[] => [invalidError(path, "<hidden>", why)];
  if (text.length > MAX_CERTIFICATES) return refuse(`must have at most ${MAX_CERTIFICATES} characters`);
  const found = text.match(CERTIFICATE) ?? [];
  if (found.length === 0) return refuse("must contain a certificate in PEM");
  try {
    for (const pem of found) new X509Certificate(pem);
    return [];
  } catch {
    return refuse("must contain only certificates in PEM");
  }
}
