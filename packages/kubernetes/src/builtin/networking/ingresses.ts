// Ingresses and IngressClasses: how services are reached from outside. Kept as they are: their controllers run elsewhere.
// Source: k8s.io/kubernetes/pkg/registry/networking/{ingress,ingressclass}/strategy.go, pkg/apis/networking/validation/validation.go

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, invalidError } from "@postern/apimachinery/validation/field-error";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import { CLASS_ANNOTATION, validateIngressClassSpec, validateIngressSpec } from "./validate-ingress.ts";

const GROUP = "networking.k8s.io";

const typedReference = s.object(
  {
    apiGroup: s.string().describe("APIGroup is the group for the resource being referenced."),
    kind: s.string().required().describe("Kind of the referent."),
    name: s.string().required().describe("Name of the referent."),
  },
  { atomic: true },
);

const backendFields = s.object({
  service: s
    .object({
      name: s
        .string()
        .required()
        .describe(
          "name is the referenced service. The service must exist in the same namespace as the Ingress object.",
        ),
      port: s
        .object(
          {
            name: s
              .string()
              .describe(
                'name is the name of the port on the Service. This is a mutually exclusive setting with "Number".',
              ),
            number: s
              .int32()
              .describe(
                'number is the numerical port number (e.g. 80) on the Service. This is a mutually exclusive setting with "Name".',
              ),
          },
          { atomic: true },
        )
        .describe("ServiceBackendPort is the service port being referenced."),
    })
    .describe("IngressServiceBackend references a Kubernetes Service as a Backend."),
  resource: typedReference.describe(
    "TypedLocalObjectReference contains enough information to let you locate the typed referenced object inside the same namespace.",
  ),
});

const pathFields = s.object({
  path: s.string().describe("path is matched against the path of an incoming request."),
  pathType: s.string().describe("pathType determines the interpretation of the path matching."),
  backend: backendFields.describe("IngressBackend describes all endpoints for a given service and port."),
});

const ruleFields = s.object({
  host: s.string().describe("host is the fully qualified domain name of a network host, as defined by RFC 3986."),
  http: s
    .object({
      paths: s.list(pathFields).nullable().describe("paths is a collection of paths that map requests to backends."),
    })
    .describe("HTTPIngressRuleValue is a list of http selectors pointing to backends."),
});

const ingressFields = s
  .object({
    spec: s
      .object({
        ingressClassName: s.string().describe("ingressClassName is the name of an IngressClass cluster resource."),
        defaultBackend: backendFields.describe("IngressBackend describes all endpoints for a given service and port."),
        tls: s
          .list(
            s.object({
              hosts: s
                .list(s.string())
                .describe(
                  "hosts is a list of hosts included in the TLS certificate. The values in this list must match the name/s used in the tlsSecret.",
                ),
              secretName: s
                .string()
                .describe("secretName is the name of the secret used to terminate TLS traffic on port 443."),
            }),
          )
          .describe(
            "tls represents the TLS configuration. Currently the Ingress only supports a single TLS port, 443.",
          ),
        rules: s.list(ruleFields).describe("rules is a list of host rules used to configure the Ingress."),
      })
      .describe("IngressSpec describes the Ingress the user wishes to exist."),
    status: s
      .object({
        loadBalancer: s
          .object({
            ingress: s
              .list(
                s.object({
                  ip: s.string().describe("ip is set for load-balancer ingress points that are IP based."),
                  hostname: s.string().describe("hostname is set for load-balancer ingress points that are DNS based."),
                  ports: s
                    .list(
                      s.object({
                        port: s.int32().describe("port is the port number of the ingress port."),
                        protocol: s.string().describe("protocol is the protocol of the ingress port."),
                        error: s.string().describe("error is to record the problem with the service port."),
                      }),
                    )
                    .describe("ports provides information about the ports exposed by this LoadBalancer."),
                }),
              )
              .describe("ingress is a list containing ingress points for the load-balancer."),
          })
          .describe("IngressLoadBalancerStatus represents the status of a load-balancer."),
      })
      .describe("IngressStatus describe the current state of the Ingress."),
  })
  .describe(
    "Ingress is a collection of rules that allow inbound connections to reach the endpoints defined by a backend.",
  );

type Ingress = KindOf<typeof ingressFields>;

/** The annotation that classes had before they were a field may say nothing else on a new Ingress. */
function validateNew({ metadata, spec = {} }: Ingress): readonly FieldError[] {
  const annotation = metadata.annotations?.[CLASS_ANNOTATION];
  const { ingressClassName } = spec;
  return [
    ...validateIngressSpec(spec),
    ...(annotation !== undefined && ingressClassName !== undefined && annotation !== ingressClassName
      ? [
          invalidError(
            `annotations.${CLASS_ANNOTATION}`,
            annotation,
            "must match `ingressClassName` when both are specified",
          ),
        ]
      : []),
  ];
}

const specOnly: Strategy<Ingress> = {
  allowUnconditionalUpdate: true,
  validate: validateNew,
  prepareForCreate: (ingress) => ({ ...ingress, status: { loadBalancer: {} } }),
  prepareForUpdate: (ingress, old, { info }) =>
    info.subresource === "status"
      ? { ...ingress, ...(old.spec === undefined ? {} : { spec: old.spec }) }
      : { ...ingress, ...(old.status === undefined ? {} : { status: old.status }) },
  validateUpdate: (ingress, _old, { info }) =>
    info.subresource === "status" ? [] : validateIngressSpec(ingress.spec ?? {}),
  warningsOnCreate: ({ metadata, spec }) =>
    metadata.annotations?.[CLASS_ANNOTATION] === undefined || spec?.ingressClassName !== undefined
      ? []
      : [`annotation "${CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`],
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
  shortNames: ["ing"],
  namespaced: true,
  hasStatus: true,
  tracksGeneration: true,
  schema: kindSchema(ingressFields.schema),
  columns: [
    // Stored objects have passed the schema of the kind.
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
      description: "ingress is a list containing ingress points for the load-balancer.",
      value: (object) =>
        ((object as Ingress).status?.loadBalancer?.ingress ?? [])
          .map(({ ip, hostname }) => ip ?? hostname ?? "")
          .join(","),
    },
    {
      name: "Ports",
      type: "string",
      description:
        "List of ports to expose from the container. Not specifying a port here DOES NOT prevent that port from being exposed.",
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
        controller: s
          .string()
          .describe("controller refers to the name of the controller that should handle this class."),
        parameters: s
          .object({
            apiGroup: s.string().describe("apiGroup is the group for the resource being referenced."),
            kind: s.string().required().describe("Kind of the referent."),
            name: s.string().required().describe("Name of the referent."),
            scope: s.string().describe("scope represents if this refers to a cluster or namespace scoped resource."),
            namespace: s.string().describe("namespace is the namespace of the resource being referenced."),
          })
          .describe(
            "IngressClassParametersReference identifies an API object. This can be used to specify a cluster or namespace-scoped resource.",
          ),
      })
      .describe("IngressClassSpec provides information about the class of an Ingress."),
  })
  .describe("IngressClass represents the class of the Ingress, referenced by the Ingress Spec.");

type IngressClass = KindOf<typeof classFields>;

const validateClass = ({ spec = {} }: IngressClass): readonly FieldError[] => validateIngressClassSpec(spec);

/** Parameters are of the whole cluster where they say nothing else. */
function withScope(object: KubeObject): KubeObject {
  const { spec } = object as IngressClass;
  if (spec?.parameters === undefined) return object;
  return {
    ...object,
    spec: { ...spec, parameters: { ...spec.parameters, scope: spec.parameters.scope ?? "Cluster" } },
  };
}

export const ingressClasses: ResourceDefinition = defineBuiltin({
  group: GROUP,
  version: "v1",
  kind: "IngressClass",
  plural: "ingressclasses",
  namespaced: false,
  tracksGeneration: true,
  schema: kindSchema(classFields.schema),
  columns: [
    { name: "Controller", type: "string", description: "Name of the controller.", value: ".spec.controller" },
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
  setDefaults: withScope,
  strategy: {
    allowUnconditionalUpdate: true,
    validate: validateClass,
    validateUpdate: (next: IngressClass, old: IngressClass) => [
      ...(next.spec?.controller === old.spec?.controller
        ? []
        : [invalidError("spec.controller", next.spec?.controller ?? "", "field is immutable")]),
      ...validateClass(next),
    ],
  },
});
