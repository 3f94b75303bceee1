// CustomResourceDefinitions of the size and shape of those of big projects. None of their text is copied: sizes, numbers of versions, depths,
// and the frequency of list maps, descriptions and rules are from releases of 2026; the rest is generated from a seed.

import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";

export type Definition = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: "Cluster" | "Namespaced";
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly { readonly name: string }[];
  };
};

type Shape = {
  readonly plural: string;
  readonly kind: string;
  readonly scope?: "Cluster";
  /** Served; the storage version is the last. */
  readonly versions: readonly string[];
  /** Size of the whole definition as JSON. */
  readonly kilobytes: number;
};

type Family = {
  readonly group: string;
  /** The nesting depth of objects. */
  readonly depth: number;
  /** Whether fields have CEL rules. */
  readonly hasRules: boolean;
  readonly definitions: readonly Shape[];
};

export const FAMILIES: { readonly [family: string]: Family } = {
  "cert-manager": {
    group: "certificates.bench.example.com",
    depth: 14,
    hasRules: false,
    definitions: [
      { plural: "certificates", kind: "Certificate", versions: ["v1"], kilobytes: 45 },
      { plural: "certificaterequests", kind: "CertificateRequest", versions: ["v1"], kilobytes: 18 },
      { plural: "issuers", kind: "Issuer", versions: ["v1"], kilobytes: 215 },
      { plural: "clusterissuers", kind: "ClusterIssuer", scope: "Cluster", versions: ["v1"], kilobytes: 215 },
      { plural: "challenges", kind: "Challenge", versions: ["v1"], kilobytes: 205 },
      { plural: "orders", kind: "Order", versions: ["v1"], kilobytes: 14 },
    ],
  },
  "Argo CD": {
    group: "gitops.bench.example.com",
    depth: 18,
    hasRules: false,
    definitions: [
      { plural: "applications", kind: "Application", versions: ["v1alpha1"], kilobytes: 310 },
      { plural: "applicationsets", kind: "ApplicationSet", versions: ["v1alpha1"], kilobytes: 1100 },
      { plural: "appprojects", kind: "AppProject", versions: ["v1alpha1"], kilobytes: 18 },
    ],
  },
  Crossplane: {
    group: "compositions.bench.example.com",
    depth: 9,
    hasRules: true,
    definitions: Array.from({ length: 20 }, (_, index) => ({
      plural: `resources${index}s`,
      kind: `Resource${index}`,
      scope: "Cluster" as const,
      versions: index % 4 === 0 ? ["v1beta1", "v1"] : ["v1"],
      kilobytes: index % 5 === 0 ? 110 : 25,
    })),
  },
  "Gateway API": {
    group: "gateways.bench.example.com",
    depth: 10,
    hasRules: true,
    definitions: [
      { plural: "gatewayclasses", kind: "GatewayClass", scope: "Cluster", versions: ["v1beta1", "v1"], kilobytes: 45 },
      { plural: "gateways", kind: "Gateway", versions: ["v1beta1", "v1"], kilobytes: 200 },
      { plural: "httproutes", kind: "HTTPRoute", versions: ["v1beta1", "v1"], kilobytes: 620 },
      { plural: "grpcroutes", kind: "GRPCRoute", versions: ["v1"], kilobytes: 210 },
      { plural: "referencegrants", kind: "ReferenceGrant", versions: ["v1beta1"], kilobytes: 12 },
      { plural: "tlsroutes", kind: "TLSRoute", versions: ["v1alpha2"], kilobytes: 90 },
    ],
  },
};

const WORDS =
  "the of a field value name list that selects each object when it is set and refers to one in its namespace".split(
    " ",
  );

export function largeDefinitions(family: Family, seed = 1): readonly Definition[] {
  return family.definitions.map((shape, index) => definitionOf(family, shape, seed * 1000 + index));
}

function definitionOf(family: Family, shape: Shape, seed: number): Definition {
  const { plural, kind, versions, kilobytes, scope = "Namespaced" } = shape;
  const bytes = (kilobytes * 1000) / versions.length;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${family.group}`, annotations: { "bench.example.com/generated": "true" } },
    spec: {
      group: family.group,
      scope,
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List`, categories: ["bench"] },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === versions.length - 1,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
        // The same in all versions, so that objects are valid in each.
        schema: { openAPIV3Schema: rootSchema(family, bytes, randomNumbers(seed)) },
      })),
    },
  } as Definition;

  function rootSchema({ depth, hasRules }: Family, size: number, draw: (below: number) => number): object {
    const spec = createFields({ depth, hasRules, draw })(size * 0.8);
    const condition = {
      type: "object",
      required: ["type", "status"],
      properties: {
        type: { type: "string", maxLength: 316 },
        status: { type: "string", enum: ["True", "False", "Unknown"] },
        reason: { type: "string", pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" },
        lastTransitionTime: { type: "string", format: "date-time" },
      },
    };
    return {
      type: "object",
      description: sentence(draw, 30),
      properties: {
        spec: { type: "object", description: sentence(draw, 12), properties: spec },
        status: {
          type: "object",
          properties: {
            conditions: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["type"],
              items: condition,
            },
          },
        },
      },
    };
  }
}

const sentence = (draw: (below: number) => number, words: number): string =>
  `${Array.from({ length: words }, () => WORDS[draw(WORDS.length)]).join(" ")}.`;

type Fields = { [name: string]: object };

/** Fields of this size as JSON, in the mixture of Go's API types. */
function createFields({
  depth,
  hasRules,
  draw,
}: {
  readonly depth: number;
  readonly hasRules: boolean;
  readonly draw: (below: number) => number;
}) {
  let count = 0;
  const fields = (bytes: number, level = 0): Fields => {
    const made: Fields = {};
    let left = bytes;
    while (left > 0) {
      const isDeep = level < depth && left > 1_200;
      const field = isDeep && draw(3) > 0 ? nested(Math.min(left * (0.3 + draw(50) / 100), left), level) : leaf();
      made[`field${count++}`] = field;
      left -= JSON.stringify(field).length + 12;
    }
    return made;
  };
  const described = (words: number) => ({ description: sentence(draw, words) });
  const nested = (bytes: number, level: number): object => {
    const properties = fields(bytes - 300, level + 1);
    const object = { type: "object", ...described(20), properties };
    if (draw(3) > 0) return object;
    const items = {
      ...object,
      properties: { name: { type: "string", maxLength: 253 }, ...properties },
      required: ["name"],
    };
    return {
      type: "array",
      maxItems: 16,
      ...described(18),
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items,
    };
  };
  const leaf = (): object => {
    const text = described(8 + draw(30));
    switch (draw(9)) {
      case 0:
        return { type: "integer", format: "int32", minimum: 0, ...text };
      case 1:
        return { type: "boolean", ...text };
      case 2:
        return { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true, ...text };
      case 3:
        return { type: "object", additionalProperties: { type: "string" }, ...text };
      case 4:
        return { type: "array", maxItems: 32, items: { type: "string", maxLength: 253 }, ...text };
      case 5:
        return { type: "string", enum: ["Always", "Never", "IfNotPresent"], ...text };
      case 6:
        return { type: "string", default: "none", maxLength: 63, pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", ...text };
      default:
        return {
          type: "string",
          maxLength: 253,
          ...text,
          ...(hasRules && draw(4) === 0
            ? {
                "x-kubernetes-validations": [
                  { rule: "self.size() == 0 || !self.startsWith('-')", message: "no dash first" },
                ],
              }
            : {}),
        };
    }
  };
  return fields;
}
