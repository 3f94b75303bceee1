// The virtual cluster or space behind a proxy path, and the request as it sees it.

import type { PlatformNames } from "@postern/api/platform-names";
import type { PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ObjectLookup } from "../../../foundation/lookup/object-lookup.ts";
import type { ProxyPath } from "../../authorization/request/proxy-path.ts";
import type { SessionRecordings } from "../../session-recordings/feature.ts";
import type { BackendRegistry } from "../../virtual-clusters/backend-registry.ts";
import type { KubernetesBackends } from "../../virtual-clusters/kubernetes-backend/kubernetes-backends.ts";
import type { SpaceBackend } from "../../virtual-clusters/kubernetes-backend/space-backend.ts";
import type { SleepingInstance, SleepingKind } from "../../virtual-clusters/sleep.ts";
import type { SpaceRegistry } from "../../virtual-clusters/space-registry.ts";
import type { VirtualClusterBackend } from "../../virtual-clusters/virtual-cluster-backend.ts";
import type { WakeUp } from "../../virtual-clusters/wake-sleeping-cluster.ts";

/** The clusters and instances that requests through the proxy may lead to. */
export type Destinations = {
  readonly lookup: ObjectLookup;
  readonly backends: BackendRegistry;
  readonly spaces: SpaceRegistry;
  /** Clusters that are reached by a kubeconfig. */
  readonly reached: KubernetesBackends;
  /** Changes with each of them. */
  readonly destinations: PolicyVersion;
  readonly wakeUp: WakeUp;
  readonly recordings: Pick<SessionRecordings, "record">;
};

/** Sources in which destinations are looked up. */
export type DestinationDeps = readonly [
  { readonly names: PlatformNames },
  Pick<Destinations, "lookup" | "backends" | "spaces">,
];

/** The object that a path leads to. */
export type FoundInstance<Backend> = {
  readonly kind: SleepingKind;
  readonly instance: SleepingInstance;
  readonly uid: string;
  /** Its cluster; "" for an instance in no cluster of the platform. */
  readonly cluster: string;
  /** Throws ApiError 503 for one out of reach. */
  open(): Backend;
};

/** Undefined if the path names no existing virtual cluster. */
export function findVirtualCluster(
  { destination }: ProxyPath,
  ...[{ names }, { lookup, backends }]: DestinationDeps
): FoundInstance<VirtualClusterBackend> | undefined {
  if (destination.target !== "ProjectVirtualCluster") return undefined;
  const namespace = names.projectNamespace(destination.project);
  const instance = lookup.virtualClusterInstance(namespace, destination.virtualCluster);
  return instance === undefined
    ? undefined
    : found("VirtualClusterInstance", instance, () => backends.backendOf(instance));
}

/** The same for spaces. */
export function findSpace(
  { destination }: ProxyPath,
  ...[{ names }, { lookup, spaces }]: DestinationDeps
): FoundInstance<SpaceBackend> | undefined {
  if (destination.target !== "ProjectSpace") return undefined;
  const instance = lookup.spaceInstance(names.projectNamespace(destination.project), destination.space);
  return instance === undefined ? undefined : found("SpaceInstance", instance, () => spaces.spaceOf(instance));
}

const found = <Backend>(
  kind: SleepingKind,
  instance: SleepingInstance,
  open: () => Backend,
): FoundInstance<Backend> => ({
  kind,
  instance,
  uid: instance.metadata.uid ?? "",
  cluster: instance.spec?.clusterRef?.cluster ?? "",
  open,
});

/** The request as the virtual cluster sees it, with its path encoded from the authorized one. */
export const below = (request: ApiRequest, { base, encodedPath }: ProxyPath): ApiRequest =>
  request.with({ path: encodedPath, basePath: request.basePath + base });
