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
    apiGroup: s.string(),
    kind: s.string().required(),
    name: s.string().required(),
  },
  { atomic: true },
);

const backendFields = s.object({
  service: s.object({
    name: s.string().required(),
    port: s.object(
      {
        name: s.string(),
        number: s.int32(),
      },
      { atomic: true },
    ),
  }),
  resource: typedReference,
});

const pathFields = s.object({
  path: s.string(),
  pathType: s.string(),
  backend: backendFields,
});

const ruleFields = s.object({
  host: s.string(),
  http: s.object({
    paths: s.list(pathFields).nullable(),
  }),
});

const ingressFields = s.object({
  spec: s.object({
    ingressClassName: s.string(),
    defaultBackend: backendFields,
    tls: s.list(
      s.object({
        hosts: s.list(s.string()),
        secretName: s.string(),
      }),
    ),
    rules: s.list(ruleFields),
  }),
  status: s.object({
    loadBalancer: s.object({
      ingress: s.list(
        s.object({
          ip: s.string(),
          hostname: s.string(),
          ports: s.list(
            s.object({
              port: s.int32(),
              protocol: s.string(),
              error: s.string(),
            }),
          ),
        }),
      ),
    }),
  }),
});

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
      value: (object) => (object as Ingress).spec?.ingressClassName ?? "<none>",
    },
    { name: "Hosts", type: "string", value: (object) => hostsOf(object as Ingress) },
    {
      name: "Address",
      type: "string",
      value: (object) =>
        ((object as Ingress).status?.loadBalancer?.ingress ?? [])
          .map(({ ip, hostname }) => ip ?? hostname ?? "")
          .join(","),
    },
    {
      name: "Ports",
      type: "string",
      value: (object) => (((object as Ingress).spec?.tls ?? []).length > 0 ? "80, 443" : "80"),
    },
    ageColumn,
  ],
  strategy: specOnly,
});

const classFields = s.object({
  spec: s.object({
    controller: s.string(),
    parameters: s.object({
      apiGroup: s.string(),
      kind: s.string().required(),
      name: s.string().required(),
      scope: s.string(),
      namespace: s.string(),
    }),
  }),
});

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
    { name: "Controller", type: "string", value: ".spec.controller" },
    {
      name: "Parameters",
      type: "string",
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
