// Why a certificate is refused: because of its own state, its user, or the key that requested it.

import type { PlatformNames } from "@postern/api/platform-names";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import { isVoid } from "../access-keys/key-origins.ts";
import { type OwnerDirectory, refusalOfOwner } from "../access-keys/validity/refusal-of-owner.ts";
import { keyReaches } from "./certificate-is-within.ts";
import { type IssuedCertificate, type IssuedTo, parentUidsOf } from "./issued-certificate.ts";

/** Whether approved access requests, by their uid, grant their access now. */
export type RequestGrants = { isLive(uid: string): boolean; onChange(listener: () => void): Disposable };

/** Undefined for a valid certificate; otherwise a reason for the audit log. */
export function createCertificateRefusal(deps: {
  readonly hasEnded: (certificate: IssuedCertificate) => boolean;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "byName" | "refusalOf">;
  readonly directory: OwnerDirectory;
  readonly names: Pick<PlatformNames, "name" | "projectNamespace">;
  /** Absent: no certificate was made with an access request. */
  readonly granted?: Pick<RequestGrants, "isLive"> | undefined;
}): (certificate: IssuedCertificate) => string | undefined {
  const { hasEnded, keys, directory, names, granted } = deps;

  const refusalOfParents = (certificate: IssuedCertificate): string | undefined => {
    const { issuedTo } = certificate;
    if (issuedTo === undefined) return undefined;
    for (const uid of parentUidsOf(certificate)) {
      const parent = keys.byUid(uid);
      if (parent === undefined) return "the key it was issued to does not exist";
      const why = keys.refusalOf(parent);
      if (why !== undefined) return `the key it was issued to is refused: ${why}`;
      if (!keyReaches(parent, issuedTo, names)) return "has more permissions than the key it was issued to";
    }
    return undefined;
  };

  /** A certificate issued before values were counted was requested with the first value. */
  const goesBackToLostValue = ({ origins, parentUid }: IssuedTo): boolean =>
    isVoid(origins, (name) => keys.byName(name)) ||
    (origins.length === 0 && parentUid !== undefined && (keys.byUid(parentUid)?.childrenFrom ?? 0) > 0);

  return (certificate) => {
    const { revokedAt, issuedTo } = certificate;
    if (revokedAt !== undefined) return "the certificate is revoked";
    if (hasEnded(certificate)) return "the certificate is expired";
    if (issuedTo === undefined) return undefined;
    const { accessRequestUid, otherAccessRequestUids = [] } = issuedTo;
    const requests = accessRequestUid === undefined ? [] : [accessRequestUid, ...otherAccessRequestUids];
    if (requests.some((uid) => granted?.isLive(uid) !== true))
      return "the access request that it was made with has ended";
    if (goesBackToLostValue(issuedTo))
      return "the certificate is revoked: the access key that requested it was compromised";
    return refusalOfOwner(issuedTo.owner, issuedTo.ownerUid, directory) ?? refusalOfParents(certificate);
  };
}
