// The ledger of issued certificates, and the metrics of all credentials.

import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { Foundation } from "../../foundation/foundation.ts";
import type { RecordPrefixes } from "../../foundation/store/record-prefixes.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import { createLastActivityWriter } from "../access-keys/last-use/last-activity-writer.ts";
import type { PeriodicWriter } from "../access-keys/last-use/periodic-writer.ts";
import type { Directory } from "../directory/directory.ts";
import { type CertificateLedger, createCertificateLedger } from "./certificate-ledger.ts";
import type { RequestGrants } from "./certificate-refusal.ts";
import { usedCertificate } from "./issued-certificate.ts";
import { createKeyCounts, EXPIRY_WINDOWS, type KeyCounts } from "./key-counts.ts";

export type CertificatesNeeds = {
  readonly keys: AccessKeys;
  readonly directory: Directory;
  /** The access requests that certificates were made with. */
  readonly granted: RequestGrants;
};

export const openCertificates = (
  base: Foundation,
  { keys, directory, granted }: CertificatesNeeds,
): CertificateLedger => createCertificateLedger(base, { keys: keys.index, directory, granted, catchUp: keys.catchUp });

/** Writes when certificates were used last, once more when it is disposed. */
export const certificateUseWriter = (
  { records, storage, runtime: { clock, scheduler }, onError }: Foundation,
  { activity, find }: Pick<CertificateLedger, "activity" | "find">,
): PeriodicWriter =>
  createLastActivityWriter({
    records: records("certificate-activity"),
    storage,
    clock,
    scheduler,
    activity,
    keys: { byUid: (serial) => (find(serial) === undefined ? undefined : usedCertificate(serial)) },
    onError: (error) => onError(error, "certificate-usage"),
  });

/** Where the records of credentials are in the store. */
export const credentialPrefixes = ({ objects, records }: Foundation): RecordPrefixes => ({
  accessKeys: objects("ownedaccesskeys").prefix,
  certificates: records("certificates").prefix,
});

/** Shows the numbers of keys and certificates in the metrics. They are counted in slices, because validity depends on time, owners and ancestors. */
export function gaugeCredentials(
  { metrics: { registry }, runtime: { clock } }: Foundation,
  { keys, certificates }: { readonly keys: AccessKeys; readonly certificates: CertificateLedger },
): () => Promise<KeyCounts> {
  const countCredentials = createKeyCounts({ keys: keys.index, certificates, clock });
  const registers = [registry];
  new Gauge({
    name: "postern_access_keys",
    help: "Access keys, by state (the reason of their condition Ready), type and kind of owner",
    labelNames: ["state", "type", "owner_kind"],
    registers,
    async collect() {
      const counts = await countCredentials();
      this.reset();
      for (const { state, type, ownerKind, count } of counts.keys)
        this.set({ state, type, owner_kind: ownerKind }, count);
    },
  });
  new Gauge({
    name: "postern_access_keys_expiring",
    help: "Access keys that work now and expire within the time",
    labelNames: ["within"],
    registers,
    async collect() {
      const { expiring } = await countCredentials();
      EXPIRY_WINDOWS.forEach(({ within }, at) => {
        this.set({ within }, expiring[at] ?? 0);
      });
    },
  });
  new Gauge({
    name: "postern_live_certificates",
    help: "Client certificates that are valid",
    registers,
    async collect() {
      this.set((await countCredentials()).liveCertificates);
    },
  });
  return countCredentials;
}
