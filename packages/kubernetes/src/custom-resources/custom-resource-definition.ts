// The fields of CustomResourceDefinitions.
// Source: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/types.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { JSON_SCHEMA_PROPS } from "@postern/apimachinery/schema/json-schema-props";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { webhookClientFields } from "../webhooks/client-config.ts";

export const APIEXTENSIONS_GROUP = "apiextensions.k8s.io";

/** Keeps a definition until all of its objects are deleted. */
export const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

const names = s.object({
  plural: s
    .string()
    .required()
    .describe(
      "plural is the plural name of the resource to serve. The custom resources are served under /apis/<group>/<version>/.../<plural>. Must be all lowercase.",
    ),
  singular: s
    .string()
    .describe("singular is the singular name of the resource. It must be all lowercase. Defaults to lowercased kind."),
  shortNames: s
    .list(s.string())
    .describe(
      "shortNames are short names for the resource, exposed in API discovery documents, and used by clients to support invocations like kubectl get <shortname>. It must be all lowercase.",
    ),
  kind: s
    .string()
    .required()
    .describe("kind is the serialized kind of the resource. It is normally CamelCase and singular."),
  listKind: s
    .string()
    .describe('listKind is the serialized kind of the list for this resource. Defaults to "kindList".'),
  categories: s
    .list(s.string())
    .describe(
      "categories is a list of grouped resources this custom resource belongs to (e.g. 'all'). This is published in API discovery documents, and used by clients to support invocations like kubectl get all.",
    ),
});
export type CustomResourceNames = Infer<typeof names>;

const condition = s.object({
  type: s
    .string()
    .required()
    .describe("type is the type of the condition. Types include Established, NamesAccepted and Terminating."),
  status: s.string().required().describe("status is the status of the condition. Can be True, False, Unknown."),
  lastTransitionTime: s
    .timestamp()
    .describe("lastTransitionTime last time the condition transitioned from one status to another."),
  reason: s.string().describe("reason is a unique, one-word, CamelCase reason for the condition's last transition."),
  message: s.string().describe("message is a human-readable message indicating details about last transition."),
  observedGeneration: s.int64().describe("Generation of the definition that the condition was set for."),
});
export type CustomResourceCondition = Infer<typeof condition>;

const column = s.object({
  name: s.string().required().describe("name is a human readable name for the column."),
  type: s.string().required().describe("type is an OpenAPI type definition for this column."),
  format: s.string().describe("format is an optional OpenAPI type definition for this column."),
  description: s.string().describe("description is a human readable description of this column."),
  priority: s
    .int32()
    .describe(
      "priority is an integer defining the relative importance of this column compared to others. Columns that may be omitted in limited space scenarios should be given a priority greater than 0.",
    ),
  jsonPath: s
    .string()
    .required()
    .describe(
      "jsonPath is a simple JSON path (i.e. with array notation) which is evaluated against each custom resource to produce the value for this column.",
    ),
});

const version = s.object({
  name: s.string().required().describe("name is the version name, e.g. v1, v2beta1, etc."),
  served: s
    .boolean()
    .required()
    .describe("served is a flag enabling/disabling this version from being served via REST APIs."),
  storage: s
    .boolean()
    .required()
    .describe(
      "storage indicates this version should be used when persisting custom resources to storage. There must be exactly one version with storage=true.",
    ),
  deprecated: s
    .boolean()
    .describe(
      "deprecated indicates this version of the custom resource API is deprecated. When set to true, API requests to this version receive a warning header in the server response.",
    ),
  deprecationWarning: s.string().describe("deprecationWarning overrides the default warning returned to API clients."),
  schema: s
    .object({
      openAPIV3Schema: s.field<JsonObject>(JSON_SCHEMA_PROPS),
    })
    .describe(
      "schema describes the schema used for validation, pruning, and defaulting of this version of the custom resource.",
    ),
  subresources: s
    .object({
      status: s
        .object({})
        .describe(
          "status indicates the custom resource should serve a /status subresource. When enabled, requests to the custom resource primary endpoint ignore changes to the status stanza of the object.",
        ),
      scale: s
        .object({
          specReplicasPath: s
            .string()
            .required()
            .describe(
              "specReplicasPath defines the JSON path inside of a custom resource that corresponds to Scale spec.replicas.",
            ),
          statusReplicasPath: s
            .string()
            .required()
            .describe(
              "statusReplicasPath defines the JSON path inside of a custom resource that corresponds to Scale status.replicas.",
            ),
          labelSelectorPath: s
            .string()
            .describe(
              "labelSelectorPath defines the JSON path inside of a custom resource that corresponds to Scale status.selector.",
            ),
        })
        .describe("Serves /scale."),
    })
    .describe("subresources specify what subresources this version of the defined custom resource have."),
  additionalPrinterColumns: s
    .list(column)
    .describe(
      "additionalPrinterColumns specifies additional columns returned in Table output. If no columns are specified, a single column displaying the age of the custom resource is used.",
    ),
  selectableFields: s
    .list(
      s.object({
        jsonPath: s
          .string()
          .required()
          .describe(
            "jsonPath is a simple JSON path which is evaluated against each custom resource to produce a field selector value.",
          ),
      }),
    )
    .describe("selectableFields specifies paths to fields that may be used as field selectors."),
});

const conversion = s.object({
  strategy: s
    .string()
    .required()
    .describe(
      'strategy specifies how custom resources are converted between versions. Allowed values are: - "None": The converter only change the apiVersion and would not touch any other field in the custom resource. - "Webhook": API Server will call to an external webhook to do the conversion.',
    ),
  webhook: s
    .object({
      clientConfig: webhookClientFields.describe(
        "clientConfig is the instructions for how to call the webhook if strategy is `Webhook`.",
      ),
      conversionReviewVersions: s
        .list(s.string())
        .describe(
          "conversionReviewVersions is an ordered list of preferred `ConversionReview` versions the Webhook expects. The API server will use the first version in the list which it supports.",
        ),
    })
    .describe("webhook describes how to call the conversion webhook. Required when `strategy` is set to `Webhook`."),
});

export const customResourceDefinitionFields = s
  .object({
    spec: s
      .object({
        group: s
          .string()
          .required()
          .describe(
            "group is the API group of the defined custom resource. Must match the name of the CustomResourceDefinition (in the form <names.plural>.<group>).",
          ),
        names: names.required().describe("names specify the resource and kind names for the custom resource."),
        scope: s.string().required().describe("Namespaced or Cluster."),
        versions: s
          .list(version)
          .required()
          .describe("versions is the list of all API versions of the defined custom resource."),
        conversion: conversion.describe("Conversion between versions."),
        preserveUnknownFields: s
          .boolean()
          .describe(
            "preserveUnknownFields indicates that object fields which are not specified in the OpenAPI schema should be preserved when persisting to storage. Must be false.",
          ),
      })
      .required()
      .describe("spec describes how the user wants the resources to appear"),
    status: s
      .object({
        conditions: s
          .listMap(condition, ["type"])
          .describe("CustomResourceDefinitionStatus indicates the state of the CustomResourceDefinition"),
        acceptedNames: names.describe(
          "acceptedNames are the names that are actually being used to serve discovery. They may be different than the names in spec.",
        ),
        storedVersions: s
          .list(s.string())
          .describe("storedVersions lists all versions of CustomResources that were ever persisted."),
      })
      .describe("status indicates the actual state of the CustomResourceDefinition"),
  })
  .describe(
    "CustomResourceDefinition represents a resource that should be exposed on the API server. Its name MUST be in the format <.spec.name>.<.spec.group>.",
  );

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
