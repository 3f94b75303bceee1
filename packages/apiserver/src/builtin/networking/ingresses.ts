// Ingresses and IngressClasses: how services are reached from outside. Kept as they are: their controllers run elsewhere.
// Source: k8s.io/kubernetes/pkg/registry/networking/{ingress,ingressclass}/strategy.go, pkg/apis/networking/validation/validation.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import {
  childPath,
  type FieldError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { isDNS1123Subdomain, isWildcardDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import type { Strategy } from "../../registry/strategy.ts";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";

const GROUP = "networking.k8s.io";

const typedReference = s.object(
  {
    apiGroup: s.string().describe("API group of the object. Absent: the core group."),
    kind: s.string().required().describe("Kind of the object."),
    name: s.string().required().describe("Name of the object."),
  },
  { atomic: true },
);

const backendFields = s.object({
  service: s
    .object({
      name: s.string().required().describe("Name of the service, in the same namespace."),
      port: s
        .object({ name: s.string().describe("Name of the port."), number: s.int32().describe("Number of the port.") })
        .describe("The port of the service: a name or a number."),
    })
    .describe("A service."),
  resource: typedReference.describe("Another object of the same namespace, in place of a service."),
});

const pathFields = s.object({
  path: s.string().describe("The path, beginning with a slash."),
  pathType: s.string().required().describe("Exact, Prefix or ImplementationSpecific."),
  backend: backendFields.required().describe("Where such requests go."),
});

const ruleFields = s.object({
  host: s.string().describe("The host, which may begin with *. Absent: every host."),
  http: s.object({ paths: s.list(pathFields).required().describe("Paths and where they lead.") }).describe("For HTTP."),
});

const ingressFields = s
  .object({
    spec: s
      .object({
        ingressClassName: s.string().describe("The IngressClass whose controller serves it."),
        defaultBackend: backendFields.describe("Where requests go that no rule is for."),
        tls: s
          .list(
            s.object({
              hosts: s.list(s.string()).describe("Hosts of the certificate."),
              secretName: s.string().describe("Secret of the same namespace with certificate and key."),
            }),
          )
          .describe("Certificates."),
        rules: s.list(ruleFields).describe("Hosts and paths."),
      })
      .describe("The ingress as it should be."),
    status: s
      .object({
        loadBalancer: s
          .object({
            ingress: s
              .list(
                s.object({
                  ip: s.string().describe("Its address."),
                  hostname: s.string().describe("Its DNS name."),
                  ports: s.list(s.anyObject()).describe("The state of its ports."),
                }),
              )
              .describe("Where it is reached."),
          })
          .describe("The load balancer."),
      })
      .describe("The ingress as it is. Its controller says so."),
  })
  .describe("Rules by which services are reached from outside.");

type Ingress = KindOf<typeof ingressFields>;
type Spec = NonNullable<Ingress["spec"]>;
type Backend = NonNullable<Spec["defaultBackend"]>;
const PATH_TYPES = ["Exact", "ImplementationSpecific", "Prefix"];

function validateIngress({ spec = {} }: Ingress): readonly FieldError[] {
  const { rules = [], defaultBackend } = spec;
  return [
    ...(rules.length === 0 && defaultBackend === undefined
      ? [invalidError("spec", null, "either `defaultBackend` or `rules` must be specified")]
      : []),
    ...(defaultBackend === undefined ? [] : validateBackend(defaultBackend, "spec.defaultBackend")),
    ...rules.flatMap(({ host = "", http }, index) => {
      const path = indexPath("spec.rules", index);
      return [
        ...validateHost(host, childPath(path, "host")),
        ...(http === undefined
          ? []
          : http.paths.length === 0
            ? [requiredError(`${path}.http.paths`)]
            : http.paths.flatMap((each, at) => validatePath(each, indexPath(`${path}.http.paths`, at)))),
      ];
    }),
  ];
}

function validateHost(host: string, path: string): readonly FieldError[] {
  if (host === "") return [];
  if (/^[\d.]+$/.test(host) || host.includes(":"))
    return [invalidError(path, host, "must be a DNS name, not an IP address")];
  const faults = host.includes("*") ? isWildcardDNS1123Subdomain(host) : isDNS1123Subdomain(host);
  return faults.map((fault) => invalidError(path, host, fault));
}

function validatePath({ path = "", pathType, backend }: Infer<typeof pathFields>, at: string): readonly FieldError[] {
  return [
    ...(PATH_TYPES.includes(pathType) ? [] : [notSupportedError(`${at}.pathType`, pathType, PATH_TYPES)]),
    ...(path.startsWith("/") || (path === "" && pathType === "ImplementationSpecific")
      ? []
      : [invalidError(`${at}.path`, path, "must be an absolute path")]),
    ...validateBackend(backend, `${at}.backend`),
  ];
}

function validateBackend({ service, resource }: Backend, path: string): readonly FieldError[] {
  if (service !== undefined && resource !== undefined) {
    return [invalidError(path, "", "cannot set both resource and service backends")];
  }
  if (resource !== undefined) return [];
  if (service === undefined) return [requiredError(path)];
  const { name = "", number = 0 } = service.port ?? {};
  if (name !== "" && number !== 0) return [invalidError(path, "", "cannot set both port name & port number")];
  return name === "" && number === 0 ? [requiredError(path, "port name or number is required")] : [];
}

const specOnly: Strategy<Ingress> = {
  allowUnconditionalUpdate: true,
  validate: validateIngress,
  prepareForUpdate: (ingress, old, { info }) =>
    info.subresource === "status"
      ? { ...ingress, ...(old.spec === undefined ? {} : { spec: old.spec }) }
      : { ...ingress, ...(old.status === undefined ? {} : { status: old.status }) },
  validateUpdate: validateIngress,
};

const hostsOf = ({ spec }: Ingress): string => {
  const hosts = (spec?.rules ?? []).map(({ host = "" }) => host).filter((host) => host !== "");
  if (hosts.length === 0) return "*";
  return hosts.length > 3 ? `${hosts.slice(0, 3).join(",")} + ${hosts.length - 3} more...` : hosts.join(",");
};

export const ingresses: ResourceDefinition = defineBuiltin({
  group: GROUP,
  version: "v1",
  kind: "Ingress",
  plural: "ingresses",
  singular: "ingress",
  shortNames: ["ing"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(ingressFields.schema),
  columns: [
    // What the store holds has gone through the schema of the kind.
    {
      name: "Class",
      type: "string",
      description: "Its IngressClass.",
      value: (object) => (object as Ingress).spec?.ingressClassName ?? "<none>",
    },
    { name: "Hosts", type: "string", description: "Its hosts.", value: (object) => hostsOf(object as Ingress) },
    {
      name: "Address",
      type: "string",
      description: "Where it is reached.",
      value: (object) =>
        ((object as Ingress).status?.loadBalancer?.ingress ?? [])
          .map(({ ip, hostname }) => ip ?? hostname ?? "")
          .join(","),
    },
    {
      name: "Ports",
      type: "string",
      description: "Its ports.",
      value: (object) => (((object as Ingress).spec?.tls ?? []).length > 0 ? "80, 443" : "80"),
    },
    ageColumn,
  ],
  strategy: specOnly,
});

const classFields = s
  .object({
    spec: s
      .object({
        controller: s.string().describe("Name of the controller, such as example.com/ingress. Cannot be changed."),
        parameters: s
          .object({
            apiGroup: s.string().describe("API group of the object."),
            kind: s.string().required().describe("Kind of the object."),
            name: s.string().required().describe("Name of the object."),
            scope: s.string().describe("Cluster or Namespace."),
            namespace: s.string().describe("Namespace of the object."),
          })
          .describe("An object with more settings."),
      })
      .describe("The class."),
  })
  .describe("Names the controller that serves the ingresses of this class.");

type IngressClass = KindOf<typeof classFields>;

const validateClass = ({ spec }: IngressClass): readonly FieldError[] => {
  const { controller = "" } = spec ?? {};
  return controller === "" ? [requiredError("spec.controller")] : [];
};

export const ingressClasses: ResourceDefinition = defineBuiltin({
  group: GROUP,
  version: "v1",
  kind: "IngressClass",
  plural: "ingressclasses",
  singular: "ingressclass",
  namespaced: false,
  tracksGeneration: true,
  schema: kindSchema(classFields.schema),
  columns: [
    { name: "Controller", type: "string", description: "Who serves it.", value: ".spec.controller" },
    {
      name: "Parameters",
      type: "string",
      description: "Its settings.",
      value: (object) => {
        const parameters = (object as IngressClass).spec?.parameters;
        if (parameters === undefined) return "<none>";
        const { apiGroup = "", kind, name } = parameters;
        return `${kind}${apiGroup === "" ? "" : `.${apiGroup}`}/${name}`;
      },
    },
    ageColumn,
  ],
  strategy: {
    allowUnconditionalUpdate: true,
    validate: validateClass,
    validateUpdate: (next: IngressClass, old: IngressClass) => [
      ...validateClass(next),
      ...(next.spec?.controller === old.spec?.controller
        ? []
        : [invalidError("spec.controller", next.spec?.controller ?? "", "field is immutable")]),
    ],
  },
});
