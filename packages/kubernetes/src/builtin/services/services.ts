// Services, kept and given their addresses, for clients and controllers that need them: no traffic goes through this server.
// Source: k8s.io/kubernetes/pkg/registry/core/service/{strategy.go,storage}, pkg/printers/internalversion/printers.go

import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, indexPath, invalidError } from "@postern/apimachinery/validation/field-error";
import { isDNS1035Label } from "@postern/apimachinery/validation/string-validators";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import {
  clusterIPOf,
  hasNodePorts,
  isHeadless,
  type Service,
  type ServicePort,
  type ServiceSpec,
  serviceFields,
  typeOf,
} from "./service.ts";
import type { ServiceAddresses } from "./service-addresses.ts";
import { validateService, validateServiceUpdate } from "./validate-service.ts";

const strategyFor = (addresses: ServiceAddresses): Strategy<Service> => ({
  validateName: (name, isPrefix) => isDNS1035Label(isPrefix ? name.replace(/-$/, "") : name),
  allowUnconditionalUpdate: true,

  async prepareForCreate(service) {
    while (addresses.ready() !== undefined) await addresses.ready();
    const next = { ...withFamilies(withBothAddresses(service)), status: { loadBalancer: {} } };
    return allocated(next, undefined, addresses);
  },
  validate: validateService,

  async prepareForUpdate(service, old, { info }) {
    if (info.subresource === "status") return { ...service, ...(old.spec === undefined ? {} : { spec: old.spec }) };
    while (addresses.ready() !== undefined) await addresses.ready();
    const kept = withAllocatedValues(withBothAddresses(service, old), old);
    const next = withFamilies(withoutUnused(kept, old));
    return allocated({ ...next, ...(old.status === undefined ? {} : { status: old.status }) }, old, addresses);
  },
  validateUpdate: (service, old, { info }) =>
    info.subresource === "status" ? [] : validateServiceUpdate(service, old),
});

/** With an address and ports, where the service needs them; whatever is wrong with it is said by its validation. */
function allocated(service: Service, old: Service | undefined, addresses: ServiceAddresses): Service {
  const faults: FieldError[] = [];
  let { spec = {} } = service;
  const address = clusterIPOf(service);
  const before = old === undefined ? "" : clusterIPOf(old);
  if (needsAddress(service) && address === "" && (spec.ports ?? []).length > 0) {
    const chosen = addresses.chooseAddress();
    spec = { ...spec, clusterIP: chosen, clusterIPs: [chosen] };
  } else if (
    needsAddress(service) &&
    !isHeadless(service) &&
    address !== "" &&
    address !== before &&
    isPlain(address)
  ) {
    const why = before === "" ? addresses.refuseAddress(address, service) : undefined;
    if (why !== undefined) faults.push(invalidError("spec.clusterIPs", [address], why));
  }
  if (hasNodePorts(service) && !isHeadless(service)) {
    const known = new Set((old?.spec?.ports ?? []).map(({ nodePort = 0 }) => nodePort));
    const ports = (spec.ports ?? []).map((port, index) => {
      const { nodePort = 0 } = port;
      if (nodePort === 0) return { ...port, nodePort: addresses.choosePort() };
      const why = known.has(nodePort) ? undefined : addresses.refusePort(nodePort);
      if (why !== undefined) faults.push(invalidError(`${indexPath("spec.ports", index)}.nodePort`, nodePort, why));
      return port;
    });
    spec = { ...spec, ports };
  }
  if (faults.length > 0) throw invalidObjectError({ group: "", kind: "Service" }, service.metadata.name ?? "", faults);
  return { ...service, spec };
}

/** Texts that are no address at all are reported by the validation. */
const isPlain = (address: string): boolean => /^[0-9a-fA-F.:]+$/.test(address);

function externalAddress(service: Service): string {
  const { externalIPs = [], externalName } = service.spec ?? {};
  const ingress = (service.status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip ?? hostname ?? "");
  switch (typeOf(service)) {
    case "ExternalName":
      return externalName ?? "";
    case "LoadBalancer": {
      const all = [...ingress, ...externalIPs].filter((address) => address !== "");
      return all.length === 0 ? "<pending>" : all.join(",");
    }
    default:
      return externalIPs.length === 0 ? "<none>" : externalIPs.join(",");
  }
}

function portsText({ spec }: Service): string {
  const texts = (spec?.ports ?? []).map(({ port, nodePort = 0, protocol = "TCP" }) =>
    nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`,
  );
  return texts.length === 0 ? "<none>" : texts.join(",");
}

export const selectorText = (selector: { readonly [label: string]: string } | undefined): string => {
  const parts = Object.entries(selector ?? {}).map(([label, value]) => `${label}=${value}`);
  return parts.length === 0 ? "<none>" : parts.toSorted().join(",");
};

// Stored objects have passed the schema of their kind, in all columns.
const columns: readonly PrinterColumn[] = [
  {
    name: "Type",
    type: "string",
    description: "Type of the service.",
    value: (object) => typeOf(object as Service),
  },
  {
    name: "Cluster-IP",
    type: "string",
    description: "The address of the service.",
    value: (object) => clusterIPOf(object as Service) || "<none>",
  },
  {
    name: "External-IP",
    type: "string",
    description: "Its addresses outside the cluster.",
    value: (object) => externalAddress(object as Service),
  },
  {
    name: "Port(s)",
    type: "string",
    description:
      "List of ports to expose from the container. Not specifying a port here DOES NOT prevent that port from being exposed.",
    value: (object) => portsText(object as Service),
  },
  ageColumn,
  {
    name: "Selector",
    type: "string",
    priority: 1,
    description: "The labels of the pods behind it.",
    value: (object) => selectorText((object as Service).spec?.selector),
  },
];

export const storedServices = (addresses: ServiceAddresses): ResourceDefinition =>
  defineBuiltin({
    group: "",
    version: "v1",
    kind: "Service",
    plural: "services",
    singular: "service",
    shortNames: ["svc"],
    categories: ["all"],
    namespaced: true,
    schema: kindSchema(serviceFields.schema),
    hasStatus: true,
    selectableFields: [".spec.clusterIP", ".spec.type"],
    columns,
    setDefaults: withServiceDefaults,
    strategy: strategyFor(addresses),
  });

// Values that a Service gets where its writer has left them out.
// Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go (SetDefaults_Service), pkg/registry/core/service/storage/{alloc,storage}.go

const AFFINITY_SECONDS = 10_800;

/** The defaults that depend on nothing but the object. */
function withServiceDefaults(object: KubeObject): KubeObject {
  const service = object as Service;
  const type = typeOf(service);
  const spec: ServiceSpec = service.spec ?? {};
  const ports = spec.ports?.map(withPortDefaults);
  const affinity = spec.sessionAffinity ?? "None";
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS;
  const isExternal = type === "NodePort" || type === "LoadBalancer" || (spec.externalIPs ?? []).length > 0;
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
    status: service.status?.loadBalancer === undefined ? { ...service.status, loadBalancer: {} } : service.status,
  };
}

function withPortDefaults(port: ServicePort): ServicePort {
  const { protocol = "TCP", targetPort } = port;
  const isOpen = targetPort === undefined || targetPort === 0 || targetPort === "";
  return { ...port, protocol: protocol === "" ? "TCP" : protocol, targetPort: isOpen ? port.port : targetPort };
}

/** Both fields with the address say the same where only one was written. */
function withBothAddresses(service: Service, old?: Service): Service {
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
function withAllocatedValues(service: Service, old: Service): Service {
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

const needsAddress = (service: Service): boolean => typeOf(service) !== "ExternalName";

/** IPv4 alone, but for those that are headless and have no selector: others write their endpoints, of both families. */
function withFamilies(service: Service): Service {
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

/** An ExternalName has no address and none of the related fields. */
function withoutUnused(service: Service, old: Service): Service {
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
