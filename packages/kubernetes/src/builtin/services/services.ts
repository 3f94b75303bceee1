// Services, kept and given their addresses, for clients and controllers that need them: no traffic goes through this server.
// Source: k8s.io/kubernetes/pkg/registry/core/service/{strategy.go,storage}, pkg/printers/internalversion/printers.go

import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, indexPath, invalidError } from "@postern/apimachinery/validation/field-error";
import { nameIsDNSLabel } from "@postern/apimachinery/validation/object-name";
import type { PrinterColumn, ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { warningHooks } from "../workloads/status-strategy.ts";
import {
  clusterIPOf,
  hasHealthCheckPort,
  hasNodePorts,
  isHeadless,
  type Service,
  serviceFields,
  typeOf,
} from "./service.ts";
import type { ServiceAddresses } from "./service-addresses.ts";
import {
  needsAddress,
  withAllocatedValues,
  withBothAddresses,
  withFamilies,
  withoutUnused,
  withServiceDefaults,
} from "./service-defaults.ts";
import { serviceWarnings } from "./service-warnings.ts";
import { validateService, validateServiceStatus, validateServiceUpdate } from "./validate-service.ts";

const strategyFor = (addresses: ServiceAddresses): Strategy<Service> => ({
  // Names may begin with a digit since 1.36 (RelaxedServiceNameValidation).
  validateName: nameIsDNSLabel,
  allowCreateOnUpdate: true,
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
    const { loadBalancer = {}, ...status } = old.status ?? {};
    const balanced = { ...status, loadBalancer: typeOf(next) === "LoadBalancer" ? loadBalancer : {} };
    return allocated({ ...next, status: balanced }, old, addresses);
  },
  validateUpdate: (service, old, { info }) =>
    info.subresource === "status" ? validateServiceStatus(service, old) : validateServiceUpdate(service, old),
  ...warningHooks(serviceWarnings),
});

/** Assigns an address and ports if the service needs them; validation reports any fault. */
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
  const { healthCheckNodePort = 0 } = spec;
  if (hasHealthCheckPort(service)) {
    if (healthCheckNodePort === 0) {
      spec = { ...spec, healthCheckNodePort: old?.spec?.healthCheckNodePort ?? addresses.choosePort() };
    } else if (healthCheckNodePort !== old?.spec?.healthCheckNodePort) {
      const why = addresses.refusePort(healthCheckNodePort);
      if (why !== undefined) faults.push(invalidError("spec.healthCheckNodePort", healthCheckNodePort, why));
    }
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

const selectorText = (selector: { readonly [label: string]: string } | undefined): string => {
  const parts = Object.entries(selector ?? {}).map(([label, value]) => `${label}=${value}`);
  return parts.length === 0 ? "<none>" : parts.toSorted().join(",");
};

// Stored objects have passed the schema of their kind, in all columns.
const columns: readonly PrinterColumn[] = [
  {
    name: "Type",
    type: "string",
    value: (object) => typeOf(object as Service),
  },
  {
    name: "Cluster-IP",
    type: "string",
    value: (object) => clusterIPOf(object as Service) || "<none>",
  },
  {
    name: "External-IP",
    type: "string",
    value: (object) => externalAddress(object as Service),
  },
  {
    name: "Port(s)",
    type: "string",
    value: (object) => portsText(object as Service),
  },
  ageColumn,
  {
    name: "Selector",
    type: "string",
    value: (object) => selectorText((object as Service).spec?.selector),
  },
];

export const storedServices = (addresses: ServiceAddresses): ResourceDefinition =>
  defineBuiltin({
    group: "",
    version: "v1",
    kind: "Service",
    plural: "services",
    returnsDeletedObject: true,
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
