// Why a certificate is refused: by its own state, by whom it was issued to, or by the key that it was asked for with.

import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import { type OwnerDirectory, refusalOfOwner } from "../access-keys/owner-refusal.ts";
import type { PlatformNames } from "../platform-names.ts";
import { certificateIsWithin } from "./certificate-reach.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";

export type CertificateRefusalOptions = {
  readonly hasEnded: (certificate: IssuedCertificate) => boolean;
  readonly keys: Pick<AccessKeyIndex, "byUid" | "refusalOf">;
  readonly directory: OwnerDirectory;
  readonly names: Pick<PlatformNames, "projectNamespace">;
};

/** Undefined for a certificate that is good; otherwise words for the audit log. */
export function createCertificateRefusal(
  options: CertificateRefusalOptions,
): (certificate: IssuedCertificate) => string | undefined {
  const { hasEnded, keys, directory, names } = options;

  const refusalOfParent = ({ issuedTo }: IssuedCertificate): string | undefined => {
    if (issuedTo?.parentUid === undefined) return undefined;
    const parent = keys.byUid(issuedTo.parentUid);
    if (parent === undefined) return "the key it was issued to is gone";
    const why = keys.refusalOf(parent);
    if (why !== undefined) return `the key it was issued to is refused: ${why}`;
    return certificateIsWithin(issuedTo, parent.restrictions, names)
      ? undefined
      : "reaches beyond the key it was issued to";
  };

  return (certificate) => {
    const { revokedAt, issuedTo } = certificate;
    if (revokedAt !== undefined) return "the certificate is revoked";
    if (hasEnded(certificate)) return "the certificate is over";
    if (issuedTo === undefined) return undefined;
    return refusalOfOwner(issuedTo.owner, issuedTo.ownerUid, directory) ?? refusalOfParent(certificate);
  };
}
