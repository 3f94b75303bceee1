// PEM text around DER bytes.
// Source: RFC 7468

export type PemLabel = "CERTIFICATE" | "CERTIFICATE REQUEST" | "PRIVATE KEY";

export function encodePem(label: PemLabel, der: Uint8Array): string {
  const base64 = Buffer.from(der.buffer, der.byteOffset, der.byteLength).toString("base64");
  let lines = "";
  for (let start = 0; start < base64.length; start += 64) lines += `${base64.slice(start, start + 64)}\n`;
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`;
}

/**
 * The bytes of the first block in the text; undefined when there is none or it is another. Text around it is passed
 * over, as Go does: OpenSSL writes some.
 */
export function decodePem(label: PemLabel, text: string): Uint8Array | undefined {
  const match = /-----BEGIN ([A-Z0-9 ]+)-----\r?\n([A-Za-z0-9+/=\r\n]*)-----END ([A-Z0-9 ]+)-----/.exec(text);
  if (match === null || match[1] !== label || match[3] !== label) return undefined;
  return Buffer.from(match[2] ?? "", "base64");
}
