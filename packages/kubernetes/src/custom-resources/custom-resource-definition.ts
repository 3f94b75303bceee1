// The fields of CustomResourceDefinitions.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { JSON_SCHEMA_PROPS } from "@postern/apimachinery/schema/openapi/json-schema-props";
import { webhookClientFields } from "../webhooks/client-config.ts";

export const APIEXTENSIONS_GROUP = "apiextensions.k8s.io";

/** Keeps a definition until all of its objects are deleted. */
export const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

const names = s.object({
  plural: s.string().required(),
  singular: s.string(),
  shortNames: s.list(s.string()),
  kind: s.string().required(),
  listKind: s.string(),
  categories: s.list(s.string()),
});
export type CustomResourceNames = Infer<typeof names>;

const condition = s.object({
  type: s.string().required(),
  status: s.string().required(),
  lastTransitionTime: s.timestamp(),
  reason: s.string(),
  message: s.string(),
  observedGeneration: s.int64(),
});
export type CustomResourceCondition = Infer<typeof condition>;

const column = s.object({
  name: s.string().required(),
  type: s.string().required(),
  format: s.string(),
  description: s.string(),
  priority: s.int32(),
  jsonPath: s.string().required(),
});

const version = s.object({
  name: s.string().required(),
  served: s.boolean().required(),
  storage: s.boolean().required(),
  deprecated: s.boolean(),
  deprecationWarning: s.string(),
  schema: s.object({
    openAPIV3Schema: s.field<JsonObject>(JSON_SCHEMA_PROPS),
  }),
  subresources: s.object({
    status: s.object({}),
    scale: s.object({
      specReplicasPath: s.string().required(),
      statusReplicasPath: s.string().required(),
      labelSelectorPath: s.string(),
    }),
  }),
  additionalPrinterColumns: s.list(column),
  selectableFields: s.list(
    s.object({
      jsonPath: s.string().required(),
    }),
  ),
});

const conversion = s.object({
  strategy: s.string().required(),
  webhook: s.object({
    clientConfig: webhookClientFields(),
    conversionReviewVersions: s.list(s.string()),
  }),
});

export const customResourceDefinitionFields = s.object({
  spec: s
    .object({
      group: s.string().required(),
      names: names.required(),
      scope: s.string().required(),
      versions: s.list(version).required(),
      conversion,
      preserveUnknownFields: s.boolean(),
    })
    .required(),
  status: s.object({
    conditions: s.listMap(condition, ["type"]),
    acceptedNames: names,
    storedVersions: s.list(s.string()),
  }),
});

export type CustomResourceDefinition = KindOf<typeof customResourceDefinitionFields>;

export const conditionOf = ({ status }: CustomResourceDefinition, type: string): CustomResourceCondition | undefined =>
  status?.conditions?.find((each) => each.type === type);

export const isEstablished = (definition: CustomResourceDefinition): boolean =>
  conditionOf(definition, "Established")?.status === "True";

/** Sets the condition; its time changes only with its status. Times are RFC 3339. */
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
