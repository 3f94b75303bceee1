// A CA and its rotation as clients see them.

import { X509Certificate } from "node:crypto";
import type { OutdatedItem } from "@postern/api/certificate-authority";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { commonNameIn } from "../../foundation/pki/common-name.ts";
import type { AuthorityRecord } from "./authority-record.ts";
import type { RotationState } from "./rotation-states.ts";

/** Credentials of one kind: how many, how many of them were used since the rotation was prepared, and MOST_ITEMS of them, the last used first. */
export type OutdatedCredentials = {
  readonly count: number;
  readonly used: number;
  readonly items: readonly OutdatedItem[];
};

/** `accessKeys` and `tokenSecrets` absent: the CA has none, or no rotation is prepared. */
export type Outdated = {
  readonly certificates: OutdatedCredentials;
  readonly accessKeys?: OutdatedCredentials | undefined;
  readonly tokenSecrets?: readonly OutdatedItem[] | undefined;
};

export const MOST_ITEMS = 100;

export function presentAuthority(
  { current, next, rotatedAt }: AuthorityRecord,
  state: RotationState | undefined,
  { certificates, accessKeys, tokenSecrets }: Outdated,
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
      certificates: certificates.count,
      ...(accessKeys && { accessKeys: accessKeys.count }),
      ...(tokenSecrets && { tokenSecrets: tokenSecrets.length }),
      ...(next && { used: certificates.used + (accessKeys?.used ?? 0) }),
      items: [...lastUsedFirst(certificates, accessKeys), ...(tokenSecrets ?? [])].slice(0, MOST_ITEMS),
    },
  };
}

/** Timestamps are of one form, which sorts by time. */
const lastUsedFirst = (certificates: OutdatedCredentials, accessKeys: OutdatedCredentials | undefined) =>
  accessKeys === undefined
    ? certificates.items
    : [...certificates.items, ...accessKeys.items].sort((one, other) =>
        (other.lastActivity ?? "").localeCompare(one.lastActivity ?? ""),
      );

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
