// What happens to a cluster on its way into the store.

import { type FieldError, forbiddenError, requiredError } from "@postern/apimachinery/validation/field-error";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { type Cluster, isLocalCluster } from "../../api/cluster.ts";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformNames } from "../../platform-names.ts";
import { networkPeerWarnings } from "../../proxy/network-peer.ts";
import { callerAsOwner } from "../caller-as-owner.ts";

export type ClusterStrategyDeps = { readonly names: PlatformNames; readonly directory: Directory };

export const clusterStrategy = (deps: ClusterStrategyDeps): Strategy<Cluster> => ({
  allowUnconditionalUpdate: true,
  prepareForCreate(cluster, { user }) {
    const owner = cluster.spec?.owner ?? callerAsOwner(user, deps);
    const spec = { ...cluster.spec, ...(owner === undefined ? {} : { owner }) };
    return { ...cluster, spec, status: firstStatus(cluster) };
  },
  validate: validateCluster,
  warningsOnCreate: ({ spec }) => networkPeerWarnings(spec?.networkPeer),
  warningsOnUpdate: ({ spec }) => networkPeerWarnings(spec?.networkPeer),
  validateUpdate: (cluster, old) => [
    ...validateCluster(cluster),
    ...(isLocalCluster(cluster) === isLocalCluster(old)
      ? []
      : [forbiddenError("spec.local", "cannot be changed: the objects in the cluster would be lost")]),
  ],
});

const firstStatus = (cluster: Cluster): NonNullable<Cluster["status"]> => ({
  phase: isLocalCluster(cluster) ? "Initialized" : "Pending",
});

function validateCluster({ spec }: Cluster): readonly FieldError[] {
  if (spec?.local === true && spec.kubeConfigRef !== undefined) {
    return [forbiddenError("spec.kubeConfigRef", "a local cluster has no kubeconfig")];
  }
  const { secretNamespace = "", secretName = "" } = spec?.kubeConfigRef ?? {};
  if (secretName === "" || secretNamespace !== "" || (spec?.managementNamespace ?? "") !== "") return [];
  return [requiredError("spec.kubeConfigRef.secretNamespace", "where spec.managementNamespace is not set")];
}
