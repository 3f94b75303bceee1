// The kinds Cluster, ClusterProfile, VirtualClusterInstance, VirtualClusterTemplate and SpaceInstance.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import { labelledCounter } from "../../../foundation/metrics/counters.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import { credentialsOfInstance } from "../../access-keys/kinds/credentials-of-owner.ts";
import { type CredentialsDeps, credentialsSubresource } from "../../access-keys/kinds/credentials-subresource.ts";
import type { KeyMint } from "../../access-keys/kinds/mint-keys.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { GrantedAccess } from "../../authorization/granted-access.ts";
import { insideIdentity } from "../../authorization/inside/inside-groups.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import type { ClusterTunnels } from "../../cluster-tunnels/feature.ts";
import { clusterJoin } from "../../cluster-tunnels/kinds/cluster-join.ts";
import type { Directory } from "../../directory/directory.ts";
import type { WrappedValues } from "../../wrapped-values/wrapped-values.ts";
import type { VirtualClusters } from "../feature.ts";
import type { PlatformEndpoint } from "../platform-endpoint.ts";
import { spaceAuthority, virtualClusterAuthority } from "./certificate-authority.ts";
import { clusterProfiles } from "./cluster-profiles/index.ts";
import { clusters } from "./clusters/index.ts";
import { spaceInstances } from "./space-instances/index.ts";
import { virtualClusterInstances } from "./virtual-cluster-instances/index.ts";
import { createTokenIssuer, type TokenIssuer } from "./virtual-cluster-instances/subresources/issue-token.ts";
import { virtualClusterTemplates } from "./virtual-cluster-templates/index.ts";

export type VirtualClusterKindsNeeds = {
  readonly clusters: VirtualClusters;
  readonly tunnels: ClusterTunnels;
  readonly keys: AccessKeys;
  readonly mint: KeyMint;
  readonly directory: Directory;
  readonly authorization: Authorization;
  readonly certificates: CertificateLedger;
  readonly credentials: CredentialsDeps;
  readonly endpoint: PlatformEndpoint;
  /** Access for a time. */
  readonly granted: GrantedAccess;
  readonly wrapped: WrappedValues;
};

type Kinds = "clusters" | "clusterProfiles" | "virtualClusterInstances" | "virtualClusterTemplates" | "spaceInstances";

export function virtualClusterKinds(
  base: Foundation,
  needs: VirtualClusterKindsNeeds,
): { readonly [kind in Kinds]: ResourceDefinition } & { readonly issuer: TokenIssuer } {
  const { configuration, names, lookup, metrics } = base;
  const { clusters: own, keys, mint, directory, certificates, endpoint } = needs;
  const { authorizer, sources, sourceCheck, visibilityOf } = needs.authorization;
  const shared = {
    names,
    lookup,
    directory,
    authorizer,
    keys: keys.index,
    insideIdentity: (user: Parameters<typeof insideIdentity>[0], place: Parameters<typeof insideIdentity>[1]) =>
      insideIdentity(user, place, sources),
  };
  const allKeys = () => keys.index.all();
  const join = clusterJoin({ names, lookup }, needs.tunnels, endpoint);
  const ofKubeconfigs = {
    ...shared,
    runtime: base.runtime,
    certificates,
    endpoint,
    backends: own.backends,
    mintAccessKey: mint.mintAccessKey,
    projectSources: sourceCheck.sources,
    granted: needs.granted,
    grants: keys.grants,
    onKubeconfigIssued: labelledCounter(
      metrics.registry,
      "postern_kubeconfigs_issued_total",
      "Issued kubeconfigs, by kind of credential",
      "kind",
    ),
    proxyFallback: configuration.kubeConfig.proxyFallback,
    frontProxy: configuration.frontProxy,
  };
  const ofAuthorities = { ...base, ...own, certificates, gatherUses: keys.gatherUses };
  return {
    issuer: createTokenIssuer(ofKubeconfigs),
    clusters: clusters({
      names,
      lookup,
      directory,
      authorizer,
      endpoint,
      keys: own.controlPlaneKeys,
      join,
      hasRecordings: configuration.sessionRecording.dir !== "",
      visibility: visibilityOf("clusters"),
    }),
    virtualClusterInstances: virtualClusterInstances({
      ...ofKubeconfigs,
      rotations: own.rotations,
      certificateAuthority: virtualClusterAuthority(ofAuthorities),
      reached: own.reached,
      controlPlaneKeys: own.controlPlaneKeys,
      clusterUsage: own.usage,
      wrapped: needs.wrapped,
      join,
      credentials: credentialsSubresource(
        (context) => credentialsOfInstance(context, { names, lookup, keys: keys.index, certificates, allKeys }),
        needs.credentials,
      ),
      visibility: visibilityOf("virtualclusterinstances"),
    }),
    clusterProfiles: clusterProfiles({ names, endpoint, visibility: visibilityOf("clusterprofiles") }),
    virtualClusterTemplates: virtualClusterTemplates({ names }),
    spaceInstances: spaceInstances({
      ...shared,
      rotations: own.rotations,
      certificateAuthority: spaceAuthority(ofAuthorities),
      visibility: visibilityOf("spaceinstances"),
    }),
  };
}
