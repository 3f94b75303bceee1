// Finds everything that is reached with a kubeconfig: connected clusters, the virtual clusters and spaces in them, and external virtual clusters.

import { isIP } from "node:net";
import type { Cluster } from "@postern/api/cluster";
import type { PlatformNames } from "@postern/api/platform-names";
import type { SpaceInstance } from "@postern/api/space-instance";
import { isRunByOthers, isTunnelled, type VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { ObjectLookup } from "../../../foundation/lookup/object-lookup.ts";
import type { AddressRules } from "../../../foundation/upstream/address-rules.ts";
import { AddressRefusedError } from "../../../foundation/upstream/guarded-lookup.ts";
import { unreachableError } from "../../../foundation/upstream/upstream-failure.ts";
import type { VirtualClusterBackend } from "../virtual-cluster-backend.ts";
import type { ClusterConnections } from "./cluster-connections.ts";
import { type ClusterSource, createSecretSource, kubeconfigIn, type SecretSourceDeps } from "./cluster-source.ts";
import { targetOfKubeconfig } from "./kubeconfig-target.ts";
import { createKubernetesBackend } from "./kubernetes-backend.ts";
import { checkRecordedSecret } from "./recorded-secret.ts";
import { createSpaceBackend, type SpaceBackend } from "./space-backend.ts";
import { spaceOwnerLabel } from "./space-namespace.ts";
import { createTunnelSource, type TunnelConnections } from "./tunnel-source.ts";
import { createVclusterSource } from "./vcluster-source.ts";

export type KubernetesBackends = {
  /** A connected cluster as a whole. */
  ofCluster(cluster: Cluster): VirtualClusterBackend;
  /** A virtual cluster that is external, standalone or in a connected cluster. */
  ofVirtualCluster(instance: VirtualClusterInstance): VirtualClusterBackend;
  /** A space in a connected cluster. */
  ofSpace(instance: SpaceInstance): SpaceBackend;
  /** Warnings for writers of external instances: why the platform does not connect to their addresses. */
  addressWarnings(instance: VirtualClusterInstance): readonly string[];
  /** Closes the connections of a deleted object, by its uid. */
  remove(uid: string): void;
};

export function createKubernetesBackends(deps: {
  readonly names: Pick<PlatformNames, "name" | "insideRoleGroup" | "key" | "projectOf">;
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
  readonly lookup: Pick<ObjectLookup, "cluster" | "virtualClusterInstance">;
  /** A Secret of the platform. Undefined when there is none. */
  readonly secret: (namespace: string, name: string) => KubeObject | undefined;
  /** To targets that administrators registered. */
  readonly connected: ClusterConnections;
  /** To targets that tenants registered, with address rules that protect the platform's network. */
  readonly external: ClusterConnections;
  /** To clusters whose agents connect themselves. */
  readonly tunnelled: TunnelConnections;
  /** The rules of `external`. */
  readonly addresses: AddressRules;
}): KubernetesBackends {
  const { names, runtime, lookup, secret, connected, external, tunnelled, addresses } = deps;
  const { clock, scheduler } = runtime;
  const backends = new Map<string, VirtualClusterBackend>();
  const spaces = new Map<string, SpaceBackend>();

  /** The cluster is looked up each time: the reference to its kubeconfig may change, and it may be deleted and created again. */
  function sourceOfCluster({ metadata: { name = "", uid = "" } }: Cluster): ClusterSource {
    const currentCluster = (): Cluster => {
      const cluster = lookup.cluster(name);
      if (cluster === undefined || cluster.metadata.uid !== uid) throw clusterNotFound(name);
      return cluster;
    };
    const find: SecretSourceDeps["find"] = () => {
      const cluster = currentCluster();
      const { kubeConfigRef, managementNamespace = "" } = cluster.spec ?? {};
      const { secretNamespace = "", secretName = "", key } = kubeConfigRef ?? {};
      const namespace = secretNamespace === "" ? managementNamespace : secretNamespace;
      if (secretName === "") throw unreachableError(NOT_CONNECTED);
      const object = secret(namespace, secretName);
      if (object !== undefined) checkRecordedSecret(cluster, object, names);
      return { object, entry: key, place: `${namespace}/${secretName}` };
    };
    const bySecret = createSecretSource({ connections: connected, key: uid, find });
    const byTunnel = createTunnelSource(tunnelled, { uid }, currentCluster);
    // Either closes with the other's next request.
    const chosen = (): ClusterSource => {
      const isTunnelled = currentCluster().spec?.networkPeer === true;
      (isTunnelled ? connected : tunnelled).remove(uid);
      return isTunnelled ? byTunnel : bySecret;
    };
    return {
      connect: (caller) => chosen().connect(caller),
      current: () => chosen().current(),
      assertReached: () => chosen().assertReached(),
      invalidate: () => bySecret.invalidate(),
    };
  }

  function hostOf(name: string): ClusterSource {
    const cluster = lookup.cluster(name);
    if (cluster === undefined) throw clusterNotFound(name);
    return sourceOfCluster(cluster);
  }

  function sourceOfVirtualCluster(instance: VirtualClusterInstance): ClusterSource {
    const { metadata, spec } = instance;
    const { namespace = "", name = "", uid = "" } = metadata;
    // Its tunnels close with spec.networkPeer, and with the instance.
    if (isTunnelled(instance)) {
      return createTunnelSource(
        tunnelled,
        { uid, namespace },
        () => lookup.virtualClusterInstance(namespace, name) ?? instance,
      );
    }
    if (isRunByOthers(instance)) {
      const secretName = `vc-${name}`;
      const place = `${namespace}/${secretName}`;
      const find = () => ({ object: secret(namespace, secretName), entry: undefined, place });
      return createSecretSource({ connections: external, key: uid, namespace, find });
    }
    const { cluster = "", namespace: hostNamespace = "", virtualCluster = "" } = spec?.clusterRef ?? {};
    const isPlacedByName = hostNamespace === namespace && virtualCluster === name;
    const project = names.projectOf(namespace) ?? "";
    return createVclusterSource({
      connections: connected,
      key: uid,
      ownNamespace: namespace,
      host: hostOf(cluster),
      namespace: hostNamespace,
      name: virtualCluster,
      isOwn: ({ metadata: { labels = {} } }) =>
        isPlacedByName || (labels[names.key("project")] === project && labels[names.key("virtual-cluster")] === name),
      isSpace: ({ metadata: { labels = {} } }) => Object.hasOwn(labels, spaceOwnerLabel(names)),
      clock,
    });
  }

  return {
    ofCluster(cluster) {
      const make = () => createKubernetesBackend({ source: sourceOfCluster(cluster), names, clock, scheduler });
      return kept(backends, cluster.metadata.uid ?? "", make);
    },
    ofVirtualCluster(instance) {
      const make = () => createKubernetesBackend({ source: sourceOfVirtualCluster(instance), names, clock, scheduler });
      const { uid = "" } = instance.metadata;
      // The other way closes with the next request of this one.
      if (isRunByOthers(instance)) (isTunnelled(instance) ? external : tunnelled).remove(uid);
      return kept(backends, `${uid}${wayOf(instance)}`, make);
    },
    ofSpace({ metadata: { uid = "" }, spec }) {
      const { cluster = "", namespace = "" } = spec?.clusterRef ?? {};
      return kept(spaces, uid, () =>
        createSpaceBackend({ host: hostOf(cluster), namespace, uid, names, clock, scheduler }),
      );
    },
    addressWarnings(instance) {
      const { namespace = "", name = "" } = instance.metadata;
      if (!isRunByOthers(instance) || isTunnelled(instance)) return [];
      const object = secret(namespace, `vc-${name}`);
      const server = object === undefined ? undefined : serverIn(object);
      const host = server === undefined ? "" : hostOfUrl(server);
      // Other host names are resolved when connecting.
      const address = host === "localhost" ? "127.0.0.1" : host;
      if (isIP(address) === 0 || addresses.isAllowed(address)) return [];
      const { message } = new AddressRefusedError(addresses.adviceFor(address));
      return [`the kubeconfig in the Secret "vc-${name}" names ${host}: ${message}`];
    },
    remove(uid) {
      for (const way of WAYS) backends.delete(`${uid}${way}`);
      spaces.delete(uid);
      for (const connections of [connected, external, tunnelled]) connections.remove(uid);
    },
  };
}

/** Undefined for an unusable kubeconfig: the status of the instance has the reason. */
function serverIn(secret: KubeObject): string | undefined {
  try {
    return targetOfKubeconfig(kubeconfigIn(secret)).server;
  } catch (error) {
    if (isApiError(error)) return undefined;
    throw error;
  }
}

const hostOfUrl = (server: string): string => new URL(server).hostname.replace(/^\[(.*)\]$/, "$1");

/** An instance may become external or connected by an agent, or cease to be. */
const WAYS = ["", "/external", "/tunnel"] as const;

const wayOf = (instance: VirtualClusterInstance): (typeof WAYS)[number] =>
  isTunnelled(instance) ? "/tunnel" : isRunByOthers(instance) ? "/external" : "";

/** The other references of an instance are immutable, so a source is valid as long as the object exists. */
function kept<T>(known: Map<string, T>, key: string, make: () => T): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}

const NOT_CONNECTED = {
  reason: "KubeConfigNotFound",
  message: "not connected: spec.kubeConfigRef names no Secret with a kubeconfig",
};

const clusterNotFound = (name: string): ApiError =>
  unreachableError({ reason: "ClusterNotFound", message: `cluster ${JSON.stringify(name)} does not exist` });
