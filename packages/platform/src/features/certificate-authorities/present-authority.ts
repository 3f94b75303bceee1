// A CA and its rotation as clients see them.

import { X509Certificate } from "node:crypto";
import type { OutdatedItem } from "@postern/api/certificate-authority";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { type AuthorityRecord, commonNameIn } from "./authority-record.ts";
import type { RotationState } from "./rotation-states.ts";

/** `tokenSecrets` absent: the CA has no tokens beside it, or no rotation is prepared. */
export type Outdated = {
  readonly certificates: readonly OutdatedItem[];
  readonly tokenSecrets?: readonly OutdatedItem[] | undefined;
};

const MOST_ITEMS = 100;

export function presentAuthority(
  { current, next, rotatedAt }: AuthorityRecord,
  state: RotationState | undefined,
  { certificates, tokenSecrets }: Outdated,
  whilePrepared: "next signs" | "current signs" = "next signs",
): JsonObject {
  const trusted = next === undefined ? [current] : whilePrepared === "next signs" ? [next, current] : [current, next];
  const [signing, other] = trusted.map(({ certificate }) => describeAuthority(certificate));
  const [previous, prepared] = whilePrepared === "next signs" ? [other, undefined] : [undefined, other];
  return {
    phase: next === undefined ? (state?.phase ?? "None") : "Prepared",
    bundle: trusted.map(({ certificate }) => certificate).join(""),
    ...(signing && { signing }),
    ...(previous && { previous }),
    ...(prepared && { prepared }),
    ...(next && { preparationTimestamp: formatTimestamp(next.preparedAt) }),
    ...(rotatedAt === undefined ? {} : { completionTimestamp: formatTimestamp(rotatedAt) }),
    outdated: {
      certificates: certificates.length,
      ...(tokenSecrets && { tokenSecrets: tokenSecrets.length }),
      items: [...certificates, ...(tokenSecrets ?? [])].slice(0, MOST_ITEMS),
    },
  };
}

function describeAuthority(pem: string): JsonObject {
  const certificate = new X509Certificate(pem);
  return {
    name: authorityName(pem),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    expirationTimestamp: formatTimestamp(Date.parse(certificate.validTo)),
  };
}

/** The common name of a CA that this server made. */
export const authorityName = (pem: string): string => commonNameIn(new X509Certificate(pem).subject);
