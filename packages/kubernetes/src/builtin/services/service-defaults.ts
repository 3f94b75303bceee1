// The default values of a Service.
// Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go (SetDefaults_Service), pkg/registry/core/service/storage/{alloc,storage}.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import {
  clusterIPOf,
  hasHealthCheckPort,
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
  const { healthCheckNodePort } = old.spec ?? {};
  if (hasHealthCheckPort(next) && hasHealthCheckPort(old) && (next.spec?.healthCheckNodePort ?? 0) === 0)
    next = { ...next, spec: { ...next.spec, ...(healthCheckNodePort === undefined ? {} : { healthCheckNodePort }) } };
  if (!hasNodePorts(next) || !hasNodePorts(old)) return next;
  const before = new Map((old.spec?.ports ?? []).map(({ name = "", nodePort }) => [name, nodePort]));
  const taken = new Set((next.spec?.ports ?? []).map(({ nodePort = 0 }) => nodePort));
  const ports = (next.spec?.ports ?? []).map((port) => {
    const nodePort = before.get(port.name ?? "");
    return (port.nodePort ?? 0) !== 0 || nodePort === undefined || taken.has(nodePort) ? port : { ...port, nodePort };
  });
  return { ...next, spec: { ...next.spec, ports } };
}

export const needsAddress = (service: Service): boolean => typeOf(service) !== "ExternalName";

/** IPv4 alone. A headless service without a selector has both families: clients write its endpoints. */
export function withFamilies(service: Service): Service {
  const { spec = {} } = service;
  if (!needsAddress(service)) {
    const { ipFamilies: _families, ipFamilyPolicy: _policy, internalTrafficPolicy: _internal, ...rest } = spec;
    return { ...service, spec: rest };
  }
  const isOpen = isHeadless(service) && Object.keys(spec.selector ?? {}).length === 0;
  const ipFamilyPolicy = spec.ipFamilyPolicy ?? (isOpen ? "RequireDualStack" : "SingleStack");
  const ipFamilies = spec.ipFamilies ?? (isOpen ? ["IPv4", "IPv6"] : ["IPv4"]);
  return { ...service, spec: { ...spec, ipFamilies, ipFamilyPolicy } };
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

/**
 * Clears what a service of the new type does not have, unless the same update changes it.
 * Source: k8s.io/kubernetes/pkg/registry/core/service/strategy.go (dropTypeDependentFields)
 */
export function withoutUnused(service: Service, old: Service): Service {
  const [type, before, was] = [typeOf(service), typeOf(old), old.spec ?? {}];
  const isSame = (name: keyof typeof was): boolean =>
    equalJson(service.spec?.[name] as JsonValue, was[name] as JsonValue);
  const gone = new Set<keyof typeof was>();
  const drop = (isUnused: boolean, ...names: readonly (keyof typeof was)[]): void => {
    if (isUnused) for (const name of names.filter(isSame)) gone.add(name);
  };
  const losesAddress = needsAddress(old) && !needsAddress(service);
  drop(losesAddress && isSame("clusterIP") && isSame("clusterIPs"), "clusterIP", "clusterIPs");
  drop(losesAddress, "ipFamilies", "ipFamilyPolicy");
  drop(hasHealthCheckPort(old) && !hasHealthCheckPort(service), "healthCheckNodePort");
  drop(before === "LoadBalancer" && type !== "LoadBalancer", "allocateLoadBalancerNodePorts", "loadBalancerClass");
  drop(isReached(old) && !isReached(service), "externalTrafficPolicy");
  const known = new Set((was.ports ?? []).map(({ nodePort = 0 }) => nodePort).concat(0));
  const losesPorts =
    needsNodePorts(old) &&
    !needsNodePorts(service) &&
    (service.spec?.ports ?? []).every(({ nodePort = 0 }) => known.has(nodePort));
  const kept = Object.fromEntries(
    Object.entries(service.spec ?? {}).filter(([name]) => !gone.has(name as keyof typeof was)),
  );
  const ports = losesPorts ? { ports: (service.spec?.ports ?? []).map(({ nodePort: _, ...port }) => port) } : {};
  return { ...service, spec: { ...kept, ...(service.spec?.ports === undefined ? {} : ports) } };
}

const needsNodePorts = (service: Service): boolean => ["NodePort", "LoadBalancer"].includes(typeOf(service));
