// Self-signed certificates on the curve P-256, by openssl.

import { succeed, tool } from "./postern-process.ts";

export type SelfSigned = {
  /** Paths of the PEM files to write. */
  readonly certificate: string;
  readonly key: string;
  /** As openssl takes it, such as `/CN=localhost`. */
  readonly subject: string;
  /** Default 2. Not positive: expired. */
  readonly days?: number;
  /** As of `-addext`, such as `subjectAltName=DNS:localhost`. */
  readonly extensions?: readonly string[];
};

export async function makeSelfSigned({
  certificate,
  key,
  subject,
  days = 2,
  extensions = [],
}: SelfSigned): Promise<void> {
  await succeed(
    tool("openssl", [
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
      ...["-subj", subject, "-days", String(days), "-keyout", key, "-out", certificate],
      ...extensions.flatMap((extension) => ["-addext", extension]),
    ]),
  );
}
