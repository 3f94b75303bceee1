// The default values of a Service.
// Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go (SetDefaults_Service), pkg/registry/core/service/storage/{alloc,storage}.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  clusterIPOf,
  hasNodePorts,
  isHeadless,
  type Service,
  type ServicePort,
  type ServiceSpec,
  typeOf,
} from "./service.ts";

const AFFINITY_SECONDS = 10_800;

/** The defaults that depend on nothing but the object. */
export function withServiceDefaults(object: KubeObject): KubeObject {
  const service = object as Service;
  const type = typeOf(service);
  const spec: ServiceSpec = service.spec ?? {};
  const ports = spec.ports?.map(withPortDefaults);
  const affinity = spec.sessionAffinity ?? "None";
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS;
  const isExternal = type === "NodePort" || type === "LoadBalancer" || (spec.externalIPs ?? []).length > 0;
  const balancer = service.status?.loadBalancer ?? {};
  return {
    ...service,
    spec: {
      ...spec,
      type,
      ...(ports === undefined ? {} : { ports }),
      sessionAffinity: affinity,
      ...(affinity === "ClientIP" ? { sessionAffinityConfig: { clientIP: { timeoutSeconds: seconds } } } : {}),
      ...(type === "ExternalName" ? {} : { internalTrafficPolicy: spec.internalTrafficPolicy ?? "Cluster" }),
      ...(isExternal && type !== "ExternalName"
        ? { externalTrafficPolicy: spec.externalTrafficPolicy ?? "Cluster" }
        : {}),
      ...(type === "LoadBalancer" ? { allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true } : {}),
    },
    status: { ...service.status, loadBalancer: type === "LoadBalancer" ? withIpModes(balancer) : balancer },
  };
}

type Balancer = NonNullable<NonNullable<Service["status"]>["loadBalancer"]>;

const withIpModes = (balancer: Balancer): Balancer =>
  balancer.ingress === undefined
    ? balancer
    : {
        ...balancer,
        ingress: balancer.ingress.map((point) =>
          (point.ip ?? "") === "" ? point : { ...point, ipMode: point.ipMode ?? "VIP" },
        ),
      };

function withPortDefaults(port: ServicePort): ServicePort {
  const { protocol = "TCP", targetPort } = port;
  const isOpen = targetPort === undefined || targetPort === 0 || targetPort === "";
  return { ...port, protocol: protocol === "" ? "TCP" : protocol, targetPort: isOpen ? port.port : targetPort };
}

/** Where only one of clusterIP and clusterIPs was written, the other follows it. */
export function withBothAddresses(service: Service, old?: Service): Service {
  const { clusterIP = "", clusterIPs = [] } = service.spec ?? {};
  if (clusterIP === (clusterIPs[0] ?? "")) return service;
  const wasSet = old !== undefined && clusterIPOf(old) !== "";
  if (clusterIP === "" && wasSet && clusterIPs.length > 0 && clusterIPs[0] === clusterIPOf(old)) {
    return withoutAddress(service);
  }
  if (clusterIP === "") return { ...service, spec: { ...service.spec, clusterIP: clusterIPs[0] ?? "" } };
  if (clusterIPs.length === 0) return { ...service, spec: { ...service.spec, clusterIPs: [clusterIP] } };
  // A change of only one of the two fields is meant for both.
  if (wasSet && clusterIP !== clusterIPOf(old) && clusterIPs[0] === clusterIPOf(old)) {
    return { ...service, spec: { ...service.spec, clusterIPs: [clusterIP] } };
  }
  return service;
}

function withoutAddress(service: Service): Service {
  const { clusterIP: _ip, clusterIPs: _ips, ...spec } = service.spec ?? {};
  return { ...service, spec };
}

/** Allocated values stay where an update leaves them out. */
export function withAllocatedValues(service: Service, old: Service): Service {
  let next = service;
  if (needsAddress(service) && needsAddress(old) && clusterIPOf(service) === "") {
    const { clusterIP, clusterIPs } = old.spec ?? {};
    next = {
      ...next,
      spec: {
        ...next.spec,
        ...(clusterIP === undefined ? {} : { clusterIP }),
        ...(clusterIPs === undefined ? {} : { clusterIPs }),
      },
    };
  }
  if (!hasNodePorts(next) || !hasNodePorts(old)) return next;
  const before = new Map((old.spec?.ports ?? []).map((port) => [portKey(port), port.nodePort]));
  const taken = new Set((next.spec?.ports ?? []).map(({ nodePort = 0 }) => nodePort));
  const ports = (next.spec?.ports ?? []).map((port) => {
    const nodePort = before.get(portKey(port));
    return (port.nodePort ?? 0) !== 0 || nodePort === undefined || taken.has(nodePort) ? port : { ...port, nodePort };
  });
  return { ...next, spec: { ...next.spec, ports } };
}

const portKey = ({ port, protocol = "TCP" }: ServicePort): string => `${protocol}/${port}`;

export const needsAddress = (service: Service): boolean => typeOf(service) !== "ExternalName";

/** IPv4 alone. A headless service without a selector has both families: clients write its endpoints. */
export function withFamilies(service: Service): Service {
  const { spec = {} } = service;
  if (!needsAddress(service)) {
    const { ipFamilies: _families, ipFamilyPolicy: _policy, ...rest } = spec;
    return { ...service, spec: rest };
  }
  const isOpen = isHeadless(service) && Object.keys(spec.selector ?? {}).length === 0;
  const ipFamilyPolicy = spec.ipFamilyPolicy ?? (isOpen ? "RequireDualStack" : "SingleStack");
  const ipFamilies = spec.ipFamilies ?? (isOpen ? ["IPv4", "IPv6"] : ["IPv4"]);
  return { ...service, spec: { ...spec, ipFamilies, ipFamilyPolicy } };
}

/** Clears the fields of a service that is no longer reached from outside, except those that the same update changes. */
function withoutExternal(service: Service, old: Service): Service {
  if (isReached(service) || !isReached(old)) return service;
  const { externalTrafficPolicy, healthCheckNodePort, ...rest } = service.spec ?? {};
  const spec = {
    ...rest,
    ...(externalTrafficPolicy === undefined || externalTrafficPolicy === old.spec?.externalTrafficPolicy
      ? {}
      : { externalTrafficPolicy }),
    ...(healthCheckNodePort === undefined || healthCheckNodePort === old.spec?.healthCheckNodePort
      ? {}
      : { healthCheckNodePort }),
  };
  return { ...service, spec };
}

/** True for a service that is reached from outside the cluster. */
export function isReached(service: Service): boolean {
  const type = typeOf(service);
  return (
    type === "LoadBalancer" ||
    type === "NodePort" ||
    (type === "ClusterIP" && (service.spec?.externalIPs ?? []).length > 0)
  );
}

/** An ExternalName has no address and none of the related fields. */
export function withoutUnused(changed: Service, old: Service): Service {
  const service = withoutExternal(changed, old);
  if (
    typeOf(service) === "ExternalName" &&
    typeOf(old) !== "ExternalName" &&
    clusterIPOf(service) === clusterIPOf(old)
  ) {
    return withoutAddress(service);
  }
  const isSame = (service.spec?.ports ?? []).every(
    ({ nodePort = 0 }) => nodePort === 0 || (old.spec?.ports ?? []).some((port) => port.nodePort === nodePort),
  );
  if (hasNodePorts(service) || !hasNodePorts(old) || !isSame) return service;
  const ports = (service.spec?.ports ?? []).map(({ nodePort: _, ...port }) => port);
  return { ...service, spec: { ...service.spec, ports } };
}
