// Requirements of a Service beyond its schema.
// Source: k8s.io/kubernetes/pkg/apis/core/validation/validation.go (ValidateService, ValidateServiceUpdate)

import { isIP } from "node:net";
import { equalJson } from "@postern/apimachinery/json/equal-json";
import {
  childPath,
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { validateLabels } from "@postern/apimachinery/validation/labels";
import {
  addressFaults,
  choiceFaults,
  endpointAddressFaults,
  labelFaults,
  networkFaults,
  portFaults,
  portOrNameFaults,
  qualifiedFaults,
  requiredChoice,
  subdomainFaults,
  textFaults,
} from "../field-checks.ts";
import { clusterIPOf, hasNodePorts, isHeadless, type Service, type ServicePort, typeOf } from "./service.ts";
import { isReached } from "./service-defaults.ts";

const TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const AFFINITIES = ["ClientIP", "None"];
const POLICIES = ["Cluster", "Local"];
const FAMILIES = ["IPv4", "IPv6"];
const FAMILY_POLICIES = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const MAX_AFFINITY_SECONDS = 86_400;

export function validateService(service: Service): readonly FieldError[] {
  const { spec = {} } = service;
  const type = typeOf(service);
  const ports = spec.ports ?? [];
  return [
    ...(ports.length === 0 && !isHeadless(service) && type !== "ExternalName" ? [requiredError("spec.ports")] : []),
    ...validateType(service, type),
    ...ports.flatMap((port, index) => validatePort(port, indexPath("spec.ports", index), ports.length > 1)),
    ...validateLabels(spec.selector ?? {}, "spec.selector"),
    ...requiredChoice("spec.sessionAffinity", spec.sessionAffinity, AFFINITIES),
    ...validateAffinity(service),
    ...requiredChoice("spec.type", type, TYPES),
    ...validateAddresses(service),
    ...duplicatePorts(ports),
    ...nodePortsWithoutNodes(service),
    ...validateExternal(service, type),
    ...(spec.internalTrafficPolicy === undefined
      ? []
      : requiredChoice("spec.internalTrafficPolicy", spec.internalTrafficPolicy, POLICIES)),
    ...(spec.ipFamilyPolicy === undefined
      ? []
      : requiredChoice("spec.ipFamilyPolicy", spec.ipFamilyPolicy, FAMILY_POLICIES)),
    ...(spec.ipFamilies ?? []).flatMap((family, index) =>
      requiredChoice(indexPath("spec.ipFamilies", index), family, FAMILIES),
    ),
    ...validateClass(service, type),
    ...choiceFaults("spec.trafficDistribution", spec.trafficDistribution, DISTRIBUTIONS),
  ];
}

/** Fields that only services have that are reached from outside. */
function validateExternal(service: Service, type: string): readonly FieldError[] {
  const { spec = {} } = service;
  const { externalTrafficPolicy: policy, healthCheckNodePort = 0, loadBalancerSourceRanges = [] } = spec;
  const path = "spec.externalTrafficPolicy";
  const port = "spec.healthCheckNodePort";
  return [
    ...(loadBalancerSourceRanges.length > 0 && type !== "LoadBalancer"
      ? [forbiddenError("spec.LoadBalancerSourceRanges", "may only be used when `type` is 'LoadBalancer'")]
      : loadBalancerSourceRanges.flatMap((range, index) =>
          networkFaults(indexPath("spec.LoadBalancerSourceRanges", index), range.trim()),
        )),
    ...(isReached(service) ? requiredChoice(path, policy, POLICIES) : []),
    ...(!isReached(service) && policy !== undefined && policy !== ""
      ? [invalidError(path, policy, "may only be set for externally-accessible services")]
      : []),
    ...(healthCheckNodePort !== 0 && !(type === "LoadBalancer" && policy === "Local")
      ? [
          invalidError(
            port,
            healthCheckNodePort,
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
          ),
        ]
      : []),
  ];
}

function validateType(service: Service, type: string): readonly FieldError[] {
  const { spec = {} } = service;
  if ((type === "LoadBalancer" || type === "NodePort") && isHeadless(service)) {
    return [invalidError("spec.clusterIPs[0]", "None", `may not be set to 'None' for ${type} services`)];
  }
  if (type !== "ExternalName") return [];
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  return [
    ...((spec.clusterIPs ?? []).length > 0
      ? [invalidError("spec.clusterIPs", [...(spec.clusterIPs ?? [])], "may not be set for ExternalName services")]
      : []),
    ...(name === "" ? [requiredError("spec.externalName")] : subdomainFaults("spec.externalName", name)),
  ];
}

function validatePort(port: ServicePort, path: string, needsName: boolean): readonly FieldError[] {
  const { name = "", protocol, targetPort = 0 } = port;
  const names =
    name === ""
      ? needsName
        ? [requiredError(childPath(path, "name"))]
        : []
      : labelFaults(childPath(path, "name"), name);
  return [
    ...names,
    ...portFaults(childPath(path, "port"), port.port),
    ...requiredChoice(childPath(path, "protocol"), protocol, PROTOCOLS),
    ...portOrNameFaults(childPath(path, "targetPort"), targetPort),
    ...(port.appProtocol === undefined ? [] : qualifiedFaults(childPath(path, "appProtocol"), port.appProtocol)),
  ];
}

function validateAffinity({ spec = {} }: Service): readonly FieldError[] {
  const { sessionAffinity, sessionAffinityConfig } = spec;
  if (sessionAffinity === "None" && sessionAffinityConfig !== undefined) {
    return [forbiddenError("spec.sessionAffinityConfig", "must not be set when session affinity is None")];
  }
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (seconds === undefined || (seconds > 0 && seconds <= MAX_AFFINITY_SECONDS)) return [];
  const path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
  return [invalidError(path, seconds, `must be greater than 0 and less than ${MAX_AFFINITY_SECONDS}`)];
}

function validateAddresses(service: Service): readonly FieldError[] {
  const { clusterIP = "", clusterIPs = [], externalIPs = [] } = service.spec ?? {};
  const first = clusterIPs[0] ?? "";
  return [
    ...(clusterIP === first
      ? []
      : clusterIPs.length === 0
        ? [requiredError("spec.clusterIPs")]
        : [invalidError("spec.clusterIPs", [...clusterIPs], "first value must match `clusterIP`")]),
    ...(clusterIPs.length > 2
      ? [invalidError("spec.clusterIPs", [...clusterIPs], "may only hold up to 2 values")]
      : []),
    ...clusterIPs.flatMap((address, index) =>
      address === "None" && clusterIPs.length === 1
        ? []
        : textFaults(indexPath("spec.clusterIPs", index), address, addressErrors),
    ),
    ...externalIPs.flatMap((address, index) => {
      const at = indexPath("spec.externalIPs", index);
      const faults = textFaults(at, address, addressErrors);
      return faults.length > 0 ? faults : endpointAddressFaults(at, address);
    }),
  ];
}

const addressErrors = (address: string): readonly string[] =>
  isIP(address) === 0 ? ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"] : [];

function duplicatePorts(ports: readonly ServicePort[]): readonly FieldError[] {
  const names = new Set<string>();
  const pairs = new Set<string>();
  return ports.flatMap((port, index) => {
    const path = indexPath("spec.ports", index);
    const { name = "", protocol = "TCP", nodePort = 0 } = port;
    const faults: FieldError[] = [];
    if (name !== "" && names.has(name)) faults.push(duplicateError(childPath(path, "name"), name));
    names.add(name);
    const pair = `${protocol}/${port.port}`;
    if (pairs.has(pair)) faults.push(duplicateError(path, { port: port.port, protocol }));
    pairs.add(pair);
    const onNodes = `${protocol} on nodes/${nodePort}`;
    if (nodePort !== 0 && pairs.has(onNodes)) faults.push(duplicateError(childPath(path, "nodePort"), nodePort));
    pairs.add(onNodes);
    return faults;
  });
}

const nodePortsWithoutNodes = (service: Service): readonly FieldError[] =>
  hasNodePorts(service) || typeOf(service) === "LoadBalancer"
    ? []
    : (service.spec?.ports ?? []).flatMap(({ nodePort = 0 }, index) =>
        nodePort === 0
          ? []
          : [
              forbiddenError(
                `${indexPath("spec.ports", index)}.nodePort`,
                "may not be used when `type` is 'ClusterIP'",
              ),
            ],
      );

const validateClass = ({ spec = {} }: Service, type: string): readonly FieldError[] =>
  spec.loadBalancerClass !== undefined && type !== "LoadBalancer"
    ? [forbiddenError("spec.loadBalancerClass", "may only be used when `type` is 'LoadBalancer'")]
    : [];

/** The address is for life, while the service has one. */
export function validateServiceUpdate(service: Service, old: Service): readonly FieldError[] {
  const before = old.spec?.clusterIPs ?? [];
  const isKept = typeOf(service) !== "ExternalName" && typeOf(old) !== "ExternalName" && clusterIPOf(old) !== "";
  const address = service.spec?.clusterIPs?.[0] ?? "";
  return [
    ...(isKept && !equalJson(address, before[0] ?? "")
      ? [invalidError("spec.clusterIPs[0]", [...(service.spec?.clusterIPs ?? [])], "may not change once set")]
      : []),
    ...(isBalanced(service) && isBalanced(old) && service.spec?.loadBalancerClass !== old.spec?.loadBalancerClass
      ? [invalidError("spec.loadBalancerClass", service.spec?.loadBalancerClass ?? null, "may not change once set")]
      : []),
    ...validateService(service),
  ];
}

const isBalanced = (service: Service): boolean => typeOf(service) === "LoadBalancer";

const IP_MODES = ["Proxy", "VIP"];

/** Source: ValidateLoadBalancerStatus */
export function validateServiceStatus(service: Service, old: Service): readonly FieldError[] {
  const path = "status.loadBalancer.ingress";
  const points = service.status?.loadBalancer?.ingress ?? [];
  if (points.length === 0) return [];
  if (typeOf(service) !== "LoadBalancer") {
    return [forbiddenError(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  const known = new Set((old.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip));
  return points.flatMap(({ ip = "", ipMode, hostname = "" }, index) => {
    const at = indexPath(path, index);
    return [
      ...(ip === "" || known.has(ip) ? [] : addressFaults(`${at}.ip`, ip)),
      ...(ipMode !== undefined && ip === ""
        ? [forbiddenError(`${at}.ipMode`, "may not be specified when `ip` is not set")]
        : choiceFaults(`${at}.ipMode`, ipMode, IP_MODES)),
      ...(hostname === "" ? [] : subdomainFaults(`${at}.hostname`, hostname)),
      ...(isIP(hostname) === 0
        ? []
        : [invalidError(`${at}.hostname`, hostname, "must be a DNS name, not an IP address")]),
    ];
  });
}
