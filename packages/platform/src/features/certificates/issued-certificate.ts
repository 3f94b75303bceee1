// The record of a client certificate for a virtual cluster: identifies it, and allows listing and revocation.

import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { objectOf, textOf } from "@postern/apimachinery/json/lenient-json";
import { type CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";
import type { KeyOrigin } from "../access-keys/key-origins.ts";
import type { UsedKey } from "../access-keys/last-use/last-activity.ts";
import { readOrigins } from "../access-keys/record/sealed-access-key.ts";

export type IssuedCertificate = {
  /** Upper-case hexadecimal, as node:crypto prints it. */
  readonly serial: string;
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly notAfter: number;
  /** uid of the virtual cluster whose authority signed it. */
  readonly instanceUid: string;
  /** The common name of that authority. Absent in records from before authorities could be rotated. */
  readonly issuer?: string | undefined;
  /** The user that the platform requested it for; absent for one that was requested inside the virtual cluster. */
  readonly issuedTo?: IssuedTo | undefined;
  readonly revokedAt?: number | undefined;
  /** The cluster verifies it without a question to this server: it is accepted there until `notAfter`, also after a revocation. */
  readonly isVerifiedElsewhere?: boolean | undefined;
};

export type IssuedTo = {
  readonly owner: AccessKeyOwner;
  /** Which it had then: a later one of the same name inherits nothing. */
  readonly ownerUid: string | undefined;
  readonly project: string;
  readonly virtualCluster: string;
  /** UID of the access key that requested it; the certificate becomes invalid with it. */
  readonly parentUid: string | undefined;
  /** Other keys that took part in its creation: it becomes invalid with each of them. */
  readonly otherParentUids?: readonly string[] | undefined;
  /** Its ancestors among access keys, with their values. */
  readonly origins: readonly KeyOrigin[];
  /** The approved access request that it was made with, and ends with. */
  readonly accessRequestUid?: string | undefined;
  /** The uids of other access requests that took part in its creation. */
  readonly otherAccessRequestUids?: readonly string[] | undefined;
};

/** A certificate in the records of last uses: under the name of its own record. */
export const usedCertificate = (serial: string): UsedKey => ({ name: serial.toLowerCase(), uid: serial });

/** The keys with which it becomes invalid. */
export const parentUidsOf = (certificate: IssuedCertificate | undefined): readonly string[] => {
  const { parentUid, otherParentUids = [] } = certificate?.issuedTo ?? {};
  return parentUid === undefined ? [] : [parentUid, ...otherParentUids];
};

/** It contains no secret: the private key of the certificate is not stored. */
export const encodeCertificate = ({ serial, ...rest }: IssuedCertificate): Uint8Array =>
  encodeStoredValue({
    apiVersion: "v1",
    kind: "IssuedCertificate",
    metadata: { name: serial.toLowerCase() },
    // All of it is plain JSON by its type; members that say nothing are left out when it is written.
    certificate: JSON.parse(JSON.stringify({ serial, ...rest })) as JsonObject,
  });

export function decodeCertificate(object: CachedObject): IssuedCertificate {
  const certificate = objectOf(object.decode()["certificate"]);
  const issuedTo = certificate["issuedTo"];
  const revokedAt = certificate["revokedAt"];
  return {
    serial: textOf(certificate["serial"]),
    commonName: textOf(certificate["commonName"]),
    organizations: isJsonArray(certificate["organizations"]) ? certificate["organizations"].map(textOf) : [],
    issuedAt: Number(certificate["issuedAt"] ?? 0),
    notAfter: Number(certificate["notAfter"] ?? 0),
    instanceUid: textOf(certificate["instanceUid"]),
    ...(typeof certificate["issuer"] === "string" ? { issuer: certificate["issuer"] } : {}),
    ...(isJsonObject(issuedTo) ? { issuedTo: readIssuedTo(issuedTo) } : {}),
    ...(typeof revokedAt === "number" ? { revokedAt } : {}),
    ...(certificate["isVerifiedElsewhere"] === true ? { isVerifiedElsewhere: true } : {}),
  };
}

function readIssuedTo(stored: JsonObject): IssuedTo {
  const { owner, ownerUid, project, virtualCluster, parentUid, otherParentUids, origins } = stored;
  const { accessRequestUid, otherAccessRequestUids } = stored;
  const { kind, name } = objectOf(owner);
  return {
    owner: { kind: kind === "user" || kind === "team" ? kind : "subject", name: textOf(name) },
    ownerUid: typeof ownerUid === "string" ? ownerUid : undefined,
    project: textOf(project),
    virtualCluster: textOf(virtualCluster),
    parentUid: typeof parentUid === "string" ? parentUid : undefined,
    ...(isJsonArray(otherParentUids) ? { otherParentUids: otherParentUids.map(textOf) } : {}),
    origins: readOrigins(origins),
    ...(typeof accessRequestUid === "string" ? { accessRequestUid } : {}),
    ...(isJsonArray(otherAccessRequestUids) ? { otherAccessRequestUids: otherAccessRequestUids.map(textOf) } : {}),
  };
}
