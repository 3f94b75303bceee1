// Endpoints of a Service, from the pods that it selects.
// Source: k8s.io/endpointslice/{reconciler,utils}.go, k8s.io/kubernetes/pkg/controller/endpoint/endpoints_controller.go

import { isIPv6 } from "node:net";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { Endpoints } from "../../builtin/services/endpoints.ts";
import type { Service, ServicePort } from "../../builtin/services/service.ts";
import type { Pod } from "../../builtin/workloads/pods/pods.ts";
import type { WantedSlice } from "./managed-slices.ts";

const MAX_IN_SLICE = 100;
const MAX_IN_ENDPOINTS = 1_000;

type Found = {
  readonly address: string;
  readonly addressType: string;
  readonly isReady: boolean;
  readonly isTerminating: boolean;
  readonly pod: Pod;
  readonly ports: readonly JsonObject[];
};

export const isHeadless = ({ spec }: Service): boolean => spec?.clusterIP === "None";

/** True for a Service whose endpoints are its pods. */
export const hasSelector = ({ spec }: Service): boolean =>
  spec?.type !== "ExternalName" && Object.keys(spec?.selector ?? {}).length > 0;

export function endpointsFound(service: Service, pods: readonly Pod[]): readonly Found[] {
  const selector = Object.entries(service.spec?.selector ?? {});
  return pods
    .filter(({ metadata: { labels = {} } }) => selector.every(([name, value]) => labels[name] === value))
    .filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
    .flatMap((pod) => {
      const { podIP = "", podIPs = [], conditions = [] } = pod.status ?? {};
      const addresses = podIPs.length > 0 ? podIPs.map(({ ip }) => ip) : podIP === "" ? [] : [podIP];
      const isReady =
        service.spec?.publishNotReadyAddresses === true ||
        conditions.some(({ type, status }) => type === "Ready" && status === "True");
      const ports = (service.spec?.ports ?? []).flatMap((port) => portOf(port, pod));
      return addresses.map((address) => ({
        address,
        addressType: isIPv6(address) ? "IPv6" : "IPv4",
        isReady,
        isTerminating: isBeingDeleted(pod),
        pod,
        ports,
      }));
    })
    .toSorted((a, b) => (a.address < b.address ? -1 : 1));
}

/** A port by name is looked up in the containers of the pod. */
function portOf({ name = "", port, targetPort, protocol = "TCP", appProtocol }: ServicePort, { spec }: Pod) {
  const named = (spec?.containers ?? [])
    .flatMap(({ ports = [] }) => ports as readonly { name?: string; protocol?: string; containerPort?: number }[])
    .find((each) => each.name === targetPort && (each.protocol ?? "TCP") === protocol)?.containerPort;
  const number = typeof targetPort === "string" ? named : (targetPort ?? port);
  if (number === undefined) return [];
  return [{ name, port: Number(number), protocol, ...(appProtocol === undefined ? {} : { appProtocol }) }];
}

const referenceTo = ({ metadata: { name = "", namespace = "", uid = "" } }: Pod): JsonObject => ({
  kind: "Pod",
  name,
  namespace,
  uid,
});

const hostnameOf = ({ spec }: Pod, service: Service): JsonObject =>
  spec?.hostname !== undefined && spec.subdomain === service.metadata.name ? { hostname: spec.hostname } : {};

const nodeOf = ({ spec }: Pod): JsonObject => (spec?.nodeName === undefined ? {} : { nodeName: spec.nodeName });

const groups = <T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> => {
  const grouped = new Map<string, T[]>();
  for (const item of items) grouped.set(keyOf(item), [...(grouped.get(keyOf(item)) ?? []), item]);
  return grouped;
};

/** An empty slice where no pod is selected. */
export function slicesOf(service: Service, found: readonly Found[]): readonly WantedSlice[] {
  const families = service.spec?.ipFamilies ?? ["IPv4"];
  return families.flatMap((addressType) => {
    const ofFamily = found.filter((each) => each.addressType === addressType);
    if (ofFamily.length === 0) return [{ addressType, endpoints: [], ports: [] }];
    return [...groups(ofFamily, ({ ports }) => JSON.stringify(ports)).values()].flatMap((group) =>
      Array.from({ length: Math.ceil(group.length / MAX_IN_SLICE) }, (_, at) => ({
        addressType,
        ports: group[0]?.ports ?? [],
        endpoints: group
          .slice(at * MAX_IN_SLICE, (at + 1) * MAX_IN_SLICE)
          .map(({ address, isReady, isTerminating, pod }) => ({
            addresses: [address],
            conditions: {
              ready: isReady && (!isTerminating || service.spec?.publishNotReadyAddresses === true),
              serving: isReady,
              terminating: isTerminating,
            },
            ...hostnameOf(pod, service),
            targetRef: referenceTo(pod),
            ...nodeOf(pod),
          })),
      })),
    );
  });
}

/** Addresses of the first family alone. */
export function subsetsOf(service: Service, found: readonly Found[]): NonNullable<Endpoints["subsets"]> {
  const [family = "IPv4"] = service.spec?.ipFamilies ?? [];
  const listed = found
    .filter(({ addressType, isTerminating }) => addressType === family && !isTerminating)
    .slice(0, MAX_IN_ENDPOINTS);
  const subsets = [...groups(listed, ({ ports }) => JSON.stringify(ports)).values()].map((group) => {
    const addressesOf = (of: readonly Found[]) =>
      of.map(({ address, pod }) => ({
        ip: address,
        ...hostnameOf(pod, service),
        ...nodeOf(pod),
        targetRef: referenceTo(pod),
      }));
    const ready = addressesOf(group.filter(({ isReady }) => isReady));
    const notReady = addressesOf(group.filter(({ isReady }) => !isReady));
    const ports = (group[0]?.ports ?? []).map(({ name, ...port }) => (name === "" ? port : { name, ...port }));
    return {
      ...(ready.length === 0 ? {} : { addresses: ready }),
      ...(notReady.length === 0 ? {} : { notReadyAddresses: notReady }),
      ...(ports.length === 0 ? {} : { ports }),
    };
  });
  // Its members are those of the schema.
  return subsets as never;
}

/** Slices that say the same as Endpoints that a client has written: one for each subset and family. */
export function mirroredSlices({ subsets }: Endpoints): readonly WantedSlice[] {
  const slices = new Map<string, WantedSlice & { readonly endpoints: JsonObject[] }>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets ?? []) {
    for (const [list, ready] of [
      [addresses, true],
      [notReadyAddresses, false],
    ] as const) {
      for (const { ip, hostname, nodeName, targetRef } of list.slice(0, MAX_IN_ENDPOINTS)) {
        const addressType = isIPv6(ip) ? "IPv6" : "IPv4";
        const shown = ports.map(({ name = "", port, protocol = "TCP", appProtocol }) => ({
          name,
          port,
          protocol,
          ...(appProtocol === undefined ? {} : { appProtocol }),
        }));
        const key = `${addressType} ${JSON.stringify(shown)}`;
        const slice = slices.get(key) ?? { addressType, ports: shown, endpoints: [] as JsonObject[] };
        slices.set(key, slice);
        slice.endpoints.push({
          addresses: [ip],
          conditions: { ready },
          ...(hostname === undefined ? {} : { hostname }),
          ...(targetRef === undefined ? {} : { targetRef: targetRef as JsonObject }),
          ...(nodeName === undefined ? {} : { nodeName }),
        });
      }
    }
  }
  return [...slices.values()];
}
