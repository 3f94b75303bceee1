// Lists the credentials that a running server accepts, from the parts that decide about them.

import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { AccessKeyIndex } from "../features/access-keys/index/access-key-index.ts";
import { usesRefusal } from "../features/access-keys/key-uses.ts";
import { readSealedAccessKey } from "../features/access-keys/record/sealed-access-key.ts";
import type { AccessGrants } from "../features/access-requests/access-grants.ts";
import type { CertificateLedger } from "../features/certificates/certificate-ledger.ts";
import { decodeCertificate } from "../features/certificates/issued-certificate.ts";
import type { RecordPrefixes } from "../foundation/store/record-prefixes.ts";
import { type KnownKey, rightsDigest, type ValidKeys } from "./valid-keys.ts";

export type CredentialsInForce = {
  readonly keys: Pick<AccessKeyIndex, "byId" | "refusalOf">;
  readonly certificates: Pick<CertificateLedger, "refusalOf">;
  readonly granted: Pick<AccessGrants, "liveUids">;
  /** Where their records are. */
  readonly prefixes: RecordPrefixes;
  readonly cache: WatchCache;
};

/** Everything that was revoked before the call is left out of it, also where another server on the store revoked it. */
export async function listValidKeys(inForce: CredentialsInForce, clock: Clock): Promise<ValidKeys> {
  const takenAt = clock.now();
  await inForce.cache.refresh();
  return {
    takenAt,
    keys: listKeys(inForce),
    certificates: listCertificates(inForce),
    grants: inForce.granted.liveUids(),
  };
}

function listKeys({ keys, cache, prefixes: { accessKeys: prefix } }: CredentialsInForce): readonly KnownKey[] {
  const isGood = (id: string): boolean => {
    const key = keys.byId(id);
    return key !== undefined && keys.refusalOf(key) === undefined && usesRefusal(key) === undefined;
  };
  return cache
    .view(prefix)
    .list(prefix)
    .map((object) => {
      const record = object.decode();
      const { key, retired } = readSealedAccessKey(object.decodeSealed());
      const value = key?.id ?? "";
      return {
        uid: record.metadata.uid ?? "",
        value,
        inForce: isGood(value),
        retired: retired.map(({ id }) => id).filter(isGood),
        rights: rightsDigest(record),
      };
    });
}

const listCertificates = ({ certificates, cache, prefixes }: CredentialsInForce): readonly string[] =>
  cache
    .view(prefixes.certificates)
    .list(prefixes.certificates)
    .map(decodeCertificate)
    .filter(({ serial, instanceUid }) => certificates.refusalOf(serial, instanceUid) === undefined)
    .map(({ serial }) => serial);
