// Marks certificates of connected and external clusters that releases before ADR 173 recorded: nothing said then that the cluster itself verifies them.

import { isLocalCluster } from "@postern/api/cluster";
import { isRunByOthers, type VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { Foundation } from "../../foundation/foundation.ts";
import type { ObjectLookup } from "../../foundation/lookup/object-lookup.ts";
import type { CertificateLedger } from "./certificate-ledger.ts";

/** Without the instance, the verifier of its certificates is unknown: an embedded one took its CA along. */
export async function markVerifiedElsewhere(
  { lookup, names }: Pick<Foundation, "lookup" | "names">,
  certificates: CertificateLedger,
): Promise<void> {
  for (const certificate of certificates.all()) {
    const { issuedTo, instanceUid, isVerifiedElsewhere } = certificate;
    if (issuedTo === undefined || isVerifiedElsewhere === true) continue;
    const namespace = names.projectNamespace(issuedTo.project);
    const instance = lookup.virtualClusterInstance(namespace, issuedTo.virtualCluster);
    if (instance?.metadata.uid !== instanceUid || !isRemote(instance, lookup)) continue;
    await certificates.record({ ...certificate, isVerifiedElsewhere: true });
  }
}

function isRemote(instance: VirtualClusterInstance, lookup: Pick<ObjectLookup, "cluster">): boolean {
  if (isRunByOthers(instance)) return true;
  const cluster = lookup.cluster(instance.spec?.clusterRef?.cluster ?? "");
  return cluster !== undefined && !isLocalCluster(cluster);
}
