// The fields of CustomResourceDefinitions.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";

export const APIEXTENSIONS_GROUP = "apiextensions.k8s.io";

/** Holds a definition until all of its objects are gone. */
export const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

const names = s.object({
  plural: s.string().required().describe("Plural name in URLs: /apis/<group>/<version>/<plural>. Lowercase."),
  singular: s.string().describe("Singular name. Default: the kind in lowercase."),
  shortNames: s.list(s.string()).describe("Short names for kubectl. Lowercase."),
  kind: s.string().required().describe("Kind of the objects, in CamelCase."),
  listKind: s.string().describe("Kind of lists of the objects. Default: the kind and List."),
  categories: s.list(s.string()).describe("Groups of resources that kubectl can name together, such as all."),
});
export type CustomResourceNames = Infer<typeof names>;

const condition = s.object({
  type: s.string().required().describe("NamesAccepted, Established, Terminating, or another condition."),
  status: s.string().required().describe("True, False or Unknown."),
  lastTransitionTime: s.timestamp().describe("Last time the status of the condition changed."),
  reason: s.string().describe("Reason of the last change, one CamelCase word."),
  message: s.string().describe("Details of the last change."),
  observedGeneration: s.int64().describe("Generation of the definition that the condition was set for."),
});
export type CustomResourceCondition = Infer<typeof condition>;

const column = s.object({
  name: s.string().required().describe("Name of the column."),
  type: s.string().required().describe("OpenAPI type of the column."),
  format: s.string().describe("OpenAPI format of the column."),
  description: s.string().describe("Description of the column."),
  priority: s.int32().describe("Columns above 0 are shown in wide output only."),
  jsonPath: s.string().required().describe("Simple JSON path of the value in each object."),
});

const version = s.object({
  name: s.string().required().describe("Name of the version, such as v1 or v1beta1."),
  served: s.boolean().required().describe("Whether the version is served."),
  storage: s.boolean().required().describe("Whether objects are stored in this version. Exactly one version is."),
  deprecated: s.boolean().describe("Whether requests in this version get a warning."),
  deprecationWarning: s.string().describe("Text of that warning. Default: it names the newest version."),
  schema: s
    .object({ openAPIV3Schema: s.anyObject().describe("Structural OpenAPI v3 schema of the objects.") })
    .describe("Schema for validation, pruning and defaults."),
  subresources: s
    .object({
      status: s.object({}).describe("Serves /status, and keeps status out of writes to the object."),
      scale: s
        .object({
          specReplicasPath: s.string().required().describe("JSON path of the wanted number of replicas."),
          statusReplicasPath: s.string().required().describe("JSON path of the actual number of replicas."),
          labelSelectorPath: s.string().describe("JSON path of the label selector as text."),
        })
        .describe("Serves /scale."),
    })
    .describe("Subresources of the objects."),
  additionalPrinterColumns: s.list(column).describe("Columns that kubectl get shows. Default: the age."),
  selectableFields: s
    .list(s.object({ jsonPath: s.string().required().describe("Simple JSON path of a field.") }))
    .describe("Fields that field selectors can name."),
});

const conversion = s.object({
  strategy: s.string().required().describe("How objects are converted between versions: None."),
  webhook: s.anyObject().describe("How to call the conversion webhook. Not supported."),
});

export const customResourceDefinitionFields = s
  .object({
    spec: s
      .object({
        group: s.string().required().describe("API group of the resource. The definition is named <plural>.<group>."),
        names: names.required().describe("Names of the resource and of its kind."),
        scope: s.string().required().describe("Namespaced or Cluster."),
        versions: s.list(version).required().describe("Versions of the resource."),
        conversion: conversion.describe("Conversion between versions."),
        preserveUnknownFields: s.boolean().describe("Must be false: unknown fields are pruned."),
      })
      .required()
      .describe("How the custom resource is served."),
    status: s
      .object({
        conditions: s.listMap(condition, ["type"]).describe("State of the definition."),
        acceptedNames: names.describe("Names that discovery shows. They may differ from spec.names on a conflict."),
        storedVersions: s.list(s.string()).describe("All versions in which objects were ever stored."),
      })
      .describe("State of the definition. Set by the server."),
  })
  .describe("Adds a resource to the API. Its name is <plural>.<group>.");

export type CustomResourceDefinition = KindOf<typeof customResourceDefinitionFields>;

export const conditionOf = ({ status }: CustomResourceDefinition, type: string): CustomResourceCondition | undefined =>
  status?.conditions?.find((each) => each.type === type);

export const isEstablished = (definition: CustomResourceDefinition): boolean =>
  conditionOf(definition, "Established")?.status === "True";

/** With the condition set; its time changes only with its status. Times are RFC 3339. */
export function withCondition(
  definition: CustomResourceDefinition,
  { type, status, reason, message }: Required<Pick<CustomResourceCondition, "type" | "status" | "reason" | "message">>,
  now: string,
): CustomResourceDefinition {
  const before = conditionOf(definition, type);
  const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now) : now;
  const set = { type, status, lastTransitionTime, reason, message };
  const conditions = definition.status?.conditions ?? [];
  return {
    ...definition,
    status: {
      ...definition.status,
      conditions:
        before === undefined ? [...conditions, set] : conditions.map((each) => (each.type === type ? set : each)),
    },
  };
}
