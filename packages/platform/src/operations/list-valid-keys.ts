// Lists the credentials that a running server accepts, from the parts that decide about them.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import type { CacheView, WatchCache } from "@postern/apiserver/cache/watch-cache";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { PlatformCore } from "../core/platform-core.ts";
import { readSealedAccessKey } from "../features/access-keys/sealed-access-key.ts";
import { decodeCertificate } from "../features/certificates/issued-certificate.ts";
import { type KnownKey, rightsDigest, type ValidKeys } from "./valid-keys.ts";

type ValidKeysDeps = {
  readonly core: Pick<PlatformCore, "keys" | "keyRecords" | "certificates" | "recordPrefixes">;
  readonly cache: WatchCache;
  readonly clock: Clock;
};

/** Everything that was revoked before the call is left out of it, also where another server on the store revoked it. */
export async function listValidKeys({ core, cache, clock }: ValidKeysDeps): Promise<ValidKeys> {
  const takenAt = clock.now();
  await cache.refresh();
  return {
    takenAt,
    keys: listKeys(core),
    certificates: listCertificates(core, cache.view(core.recordPrefixes.certificates)),
  };
}

function listKeys({ keys, keyRecords: { view, prefix } }: ValidKeysDeps["core"]): readonly KnownKey[] {
  const isGood = (id: string): boolean => {
    const key = keys.byId(id);
    return key !== undefined && keys.refusalOf(key) === undefined;
  };
  return view.list(prefix).map((object) => {
    const { metadata, ...rest } = object.decode();
    const { key, retired } = readSealedAccessKey(object.decodeSealed());
    const value = key?.id ?? "";
    return {
      uid: metadata.uid ?? "",
      value,
      inForce: isGood(value),
      retired: retired.map(({ id }) => id).filter(isGood),
      rights: rightsDigest(isJsonObject(rest["spec"]) ? rest["spec"] : {}),
    };
  });
}

const listCertificates = (
  { certificates, recordPrefixes }: ValidKeysDeps["core"],
  view: CacheView,
): readonly string[] =>
  view
    .list(recordPrefixes.certificates)
    .map(decodeCertificate)
    .filter(({ serial, instanceUid }) => certificates.refusalOf(serial, instanceUid) === undefined)
    .map(({ serial }) => serial);
