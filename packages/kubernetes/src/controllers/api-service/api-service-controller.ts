// Maintains the Service `kubernetes` of a cluster, with the Endpoints and the EndpointSlice of its API (ADR 109).
// Source: k8s.io/kubernetes/pkg/controlplane/controller/kubernetesservice/controller.go, pkg/controlplane/reconcilers/{instancecount,endpointsadapter}.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  createControlled,
  deleteControlled,
  ignoringConflicts,
  updateControlled,
} from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { InstalledResource } from "@postern/apiserver/registry/resource-registry";
import { API_SERVICE_ADDRESS } from "../../builtin/services/service-addresses.ts";

/** Where the API of a cluster is reached. */
export type ApiAddress = {
  /** An IPv4 or IPv6 address that others can reach. */
  readonly ip: string;
  readonly port: number;
};

export type ApiServiceDeps = {
  /** Throws where the cluster does not serve the kind. */
  readonly resource: (group: string, kind: string) => InstalledResource;
  /** Undefined where it is reached by a name, or from its own machine alone. Absent: that is not known. */
  readonly address?: (() => ApiAddress | undefined) | undefined;
};

const NAMESPACE = "default";
const NAME = "kubernetes";
const HTTPS_PORT = 443;

/** One of the three objects, as the controller keeps it. */
type KeptObject = {
  readonly resource: InstalledResource;
  readonly object: KubeObject;
  /** Members that are put back when they are changed. */
  readonly kept: readonly string[];
  /** A member that no update can change: an object with another value is replaced. */
  readonly immutable?: string;
};

/**
 * Runs until it is disposed. An object of the same name that already exists keeps everything but its addresses. One that is missing at the start is
 * created with the other first objects of the cluster: two that create the Service at the same time would refuse each other its address.
 */
export function createApiServiceController(port: Omit<ControllerPort, "resources">, deps: ApiServiceDeps): Controller {
  const { scheduler } = port.runtime;
  const queue = new WorkQueue(port, { name: "kubernetes_service", process, concurrency: 1 });
  async function process(_key: string, signal: AbortSignal): Promise<void> {
    for (const each of apiServiceObjects(deps)) await ignoringConflicts(() => keep(each, signal));
  }

  async function keep({ resource, object, kept, immutable }: KeptObject, signal: AbortSignal): Promise<void> {
    const current = resource.view.get(resource.keys.of(NAMESPACE, NAME))?.decode();
    if (current === undefined) return await create(resource, object, signal);
    if (immutable !== undefined && current[immutable] !== object[immutable]) {
      return await deleteControlled(port, resource, current, signal);
    }
    if (kept.every((member) => equalJson(current[member] ?? [], object[member] ?? []))) return;
    const transform = (now: KubeObject): KubeObject => ({ ...withoutMembers(now, kept), ...membersOf(object, kept) });
    await updateControlled(port, resource, current, { transform }, signal);
  }

  async function create(resource: ControlledResource, object: KubeObject, signal: AbortSignal): Promise<void> {
    try {
      await createControlled(port, resource, object, signal);
    } catch (error) {
      // Memory has not seen it yet, or the namespace is not there yet: the change is on its way.
      if (!isApiError(error, "AlreadyExists") && !isApiError(error, "Forbidden")) throw error;
    }
  }

  const following = apiServiceObjects(deps).map(({ resource }) => {
    const key = resource.keys.of(NAMESPACE, NAME);
    return followKeys(resource, scheduler, (changed) => {
      if (changed === key) queue.add(NAME);
    });
  });
  return createQueueController(queue, following);
}

const withoutMembers = (object: KubeObject, members: readonly string[]): KubeObject =>
  // The rest is the object as it was, without the members that are about to be written.
  Object.fromEntries(Object.entries(object).filter(([member]) => !members.includes(member))) as KubeObject;

const membersOf = (object: KubeObject, members: readonly string[]): JsonObject =>
  Object.fromEntries(members.flatMap((member) => (object[member] === undefined ? [] : [[member, object[member]]])));

/** The APIServices of a new cluster, in the order of their creation. */
export function apiServiceObjects({ resource, address }: ApiServiceDeps): readonly KeptObject[] {
  const found = address?.();
  const ports = found === undefined ? [] : [{ name: "https", port: found.port, protocol: "TCP" }];
  const metadata = { name: NAME, namespace: NAMESPACE };
  return [
    {
      resource: resource("", "Service"),
      kept: [],
      object: {
        apiVersion: "v1",
        kind: "Service",
        metadata: { ...metadata, labels: { component: "apiserver", provider: "kubernetes" } },
        spec: {
          clusterIP: API_SERVICE_ADDRESS,
          clusterIPs: [API_SERVICE_ADDRESS],
          ports: [{ name: "https", port: HTTPS_PORT, protocol: "TCP", targetPort: found?.port ?? HTTPS_PORT }],
          type: "ClusterIP",
          sessionAffinity: "None",
          internalTrafficPolicy: "Cluster",
        },
      },
    },
    {
      resource: resource("", "Endpoints"),
      kept: ["subsets"],
      object: {
        apiVersion: "v1",
        kind: "Endpoints",
        metadata: { ...metadata, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
        ...(found === undefined ? {} : { subsets: [{ addresses: [{ ip: found.ip }], ports }] }),
      },
    },
    {
      resource: resource("discovery.k8s.io", "EndpointSlice"),
      kept: ["endpoints", "ports"],
      immutable: "addressType",
      object: {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { ...metadata, labels: { "kubernetes.io/service-name": NAME } },
        addressType: found?.ip.includes(":") === true ? "IPv6" : "IPv4",
        endpoints: found === undefined ? [] : [{ addresses: [found.ip], conditions: { ready: true } }],
        ports,
      },
    },
  ];
}
