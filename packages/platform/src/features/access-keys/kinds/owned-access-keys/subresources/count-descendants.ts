// Counts the credentials that end with a compromised value.

import { inSlices } from "@postern/apiserver/runtime/in-slices";
import type { CertificateLedger } from "../../../../certificates/certificate-ledger.ts";
import type { AccessKeyState } from "../../../access-key-state.ts";
import type { KeyOrigin } from "../../../key-origins.ts";

export type DescendantDeps = {
  readonly allKeys: () => Iterable<AccessKeyState>;
  readonly certificates: Pick<CertificateLedger, "withOrigin">;
  readonly runtime: { readonly clock: { now(): number } };
};

/** Counts the valid keys and certificates that were created with a value of the key whose serial is in the range. */
export async function countDescendants(
  uid: string,
  { from, below }: { readonly from: number; readonly below: number },
  { allKeys, certificates, runtime }: DescendantDeps,
  signal: AbortSignal,
): Promise<number> {
  const isMade = (made: KeyOrigin): boolean => made.uid === uid && made.serial >= from && made.serial < below;
  const now = runtime.clock.now();
  // Clusters that verify certificates themselves continue to accept it: it must not be reported as revoked.
  let count = certificates
    .withOrigin(isMade)
    .filter(
      ({ notAfter, revokedAt, isVerifiedElsewhere }) => notAfter > now && !revokedAt && !isVerifiedElsewhere,
    ).length;
  await inSlices(
    allKeys(),
    (key) => {
      if (key.uid !== uid && key.origins.some(isMade) && (key.expiresAt ?? Number.POSITIVE_INFINITY) > now) count++;
    },
    signal,
  );
  return count;
}
