// The common name in a name of a certificate.

/** `name` is a subject or an issuer as node:crypto prints it. "" without a common name. */
export const commonNameIn = (name: string): string => /^CN=(.+)$/m.exec(name)?.[1] ?? "";
