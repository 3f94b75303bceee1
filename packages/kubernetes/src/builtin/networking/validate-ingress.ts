// Requirements of Ingresses and IngressClasses.
// Source: k8s.io/kubernetes/pkg/apis/networking/validation/validation.go (ValidateIngressSpec, ValidateIngressClass)

import { isIP } from "node:net";
import {
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
  tooLongError,
} from "@postern/apimachinery/validation/field-error";
import { isDNS1123Subdomain, isWildcardDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import {
  choiceFaults,
  isPortName,
  labelFaults,
  portFaults,
  prefixedPathFaults,
  segmentFaults,
  subdomainFaults,
  textFaults,
} from "../field-checks.ts";

type Reference = { readonly apiGroup?: string; readonly kind: string; readonly name: string };
type Backend = {
  readonly service?: { readonly name: string; readonly port?: { readonly name?: string; readonly number?: number } };
  readonly resource?: Reference;
};
type Path = { readonly path?: string; readonly pathType?: string; readonly backend?: Backend };
export type IngressSpec = {
  readonly ingressClassName?: string;
  readonly defaultBackend?: Backend;
  readonly rules?: readonly { readonly host?: string; readonly http?: { readonly paths?: readonly Path[] | null } }[];
  readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
};

export const CLASS_ANNOTATION = "kubernetes.io/ingress.class";

export function validateIngressSpec(spec: IngressSpec): readonly FieldError[] {
  const { rules = [], defaultBackend, tls = [], ingressClassName } = spec;
  return [
    ...(rules.length === 0 && defaultBackend === undefined
      ? [invalidError("spec", null, "either `defaultBackend` or `rules` must be specified", "null")]
      : []),
    ...(defaultBackend === undefined ? [] : backendFaults(defaultBackend, "spec.defaultBackend")),
    ...rules.flatMap(({ host = "", http }, index) => {
      const path = indexPath("spec.rules", index);
      const paths = http?.paths ?? [];
      return [
        ...hostFaults(host, `${path}.host`),
        ...(http !== undefined && paths.length === 0 ? [requiredError(`${path}.http.paths`)] : []),
        ...paths.flatMap((each, at) => pathFaults(each, indexPath(`${path}.http.paths`, at))),
      ];
    }),
    ...tls.flatMap(({ hosts = [], secretName = "" }, index) => [
      ...hosts.flatMap((host, at) => nameFaults(host, indexPath(`spec.tls[${index}].hosts`, at))),
      ...(secretName === "" ? [] : subdomainFaults(`spec.tls[${index}].secretName`, secretName)),
    ]),
    ...(ingressClassName === undefined ? [] : subdomainFaults("spec.ingressClassName", ingressClassName)),
  ];
}

const nameFaults = (host: string, path: string): readonly FieldError[] =>
  textFaults(path, host, host.includes("*") ? isWildcardDNS1123Subdomain : isDNS1123Subdomain);

function hostFaults(host: string, path: string): readonly FieldError[] {
  if (host === "") return [];
  const isAddress = isIP(host) !== 0 ? [invalidError(path, host, "must be a DNS name, not an IP address")] : [];
  return [...isAddress, ...nameFaults(host, path)];
}

const SEQUENCES = ["//", "/./", "/../", "%2f", "%2F"];
const ENDINGS = ["/..", "/."];

function pathFaults({ path = "", pathType, backend = {} }: Path, at: string): readonly FieldError[] {
  if (pathType === undefined) return [requiredError(`${at}.pathType`, "pathType must be specified")];
  const fault = (why: string): FieldError => invalidError(`${at}.path`, path, why);
  const isStrict = pathType === "Exact" || pathType === "Prefix";
  const isFree = pathType === "ImplementationSpecific";
  return [
    ...((isStrict || (isFree && path !== "")) && !path.startsWith("/") ? [fault("must be an absolute path")] : []),
    ...(isStrict
      ? [
          ...SEQUENCES.filter((each) => path.includes(each)).map((each) => fault(`must not contain '${each}'`)),
          ...ENDINGS.filter((each) => path.endsWith(each)).map((each) => fault(`cannot end with '${each}'`)),
        ]
      : choiceFaults(`${at}.pathType`, pathType, ["Exact", "ImplementationSpecific", "Prefix"])),
    ...backendFaults(backend, `${at}.backend`),
  ];
}

function backendFaults({ service, resource }: Backend, path: string): readonly FieldError[] {
  if (service !== undefined && resource !== undefined) {
    return [invalidError(path, "", "cannot set both resource and service backends")];
  }
  if (resource !== undefined) return referenceFaults(resource, `${path}.resource`);
  if (service === undefined) return [invalidError(path, "", "resource or service backend is required")];
  const { name = "", number = 0 } = service.port ?? {};
  const at = `${path}.service`;
  const named = service.name === "" ? [requiredError(`${at}.name`)] : labelFaults(`${at}.name`, service.name);
  if (name !== "" && number !== 0) return [...named, invalidError(path, "", "cannot set both port name & port number")];
  if (name !== "") return [...named, ...textFaults(`${at}.port.name`, name, isPortName)];
  if (number !== 0) return [...named, ...portFaults(`${at}.port.number`, number)];
  return [...named, requiredError(path, "port name or number is required")];
}

const referenceFaults = ({ apiGroup, kind, name }: Reference, path: string): readonly FieldError[] => [
  ...(apiGroup === undefined ? [] : subdomainFaults(`${path}.apiGroup`, apiGroup)),
  ...segmentFaults(`${path}.kind`, kind),
  ...segmentFaults(`${path}.name`, name),
];

type Parameters = Reference & { readonly scope?: string; readonly namespace?: string };
export type IngressClassSpec = { readonly controller?: string; readonly parameters?: Parameters };

const MAX_CONTROLLER = 250;

export const validateIngressClassSpec = ({ controller = "", parameters }: IngressClassSpec): readonly FieldError[] => [
  ...(controller.length > MAX_CONTROLLER ? [tooLongError("spec.controller", MAX_CONTROLLER)] : []),
  ...prefixedPathFaults("spec.controller", controller),
  ...(parameters === undefined ? [] : parametersFaults(parameters, "spec.parameters")),
];

function parametersFaults(parameters: Parameters, path: string): readonly FieldError[] {
  const { scope, namespace = "" } = parameters;
  const at = `${path}.namespace`;
  return [
    ...referenceFaults(parameters, path),
    ...(scope === undefined
      ? [requiredError(`${path}.scope`)]
      : choiceFaults(`${path}.scope`, scope, ["Cluster", "Namespace"])),
    ...(scope === "Namespace" && namespace === ""
      ? [requiredError(at, "`parameters.scope` is set to 'Namespace'")]
      : []),
    ...(scope === "Namespace" && namespace !== "" ? labelFaults(at, namespace) : []),
    ...(scope === "Cluster" && parameters.namespace !== undefined
      ? [forbiddenError(at, "`parameters.scope` is set to 'Cluster'")]
      : []),
  ];
}
