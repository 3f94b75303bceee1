// The schemas that all APIs share: Status, options, patches, Scale.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go, k8s.io/api/autoscaling/v1/types.go

import type { GroupVersion, GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { listMetaSchema, META_COMPONENTS } from "@postern/apimachinery/schema/object-meta-schema";
import {
  JSON_SCHEMA_PROPS,
  JSON_SCHEMA_PROPS_NAME,
  PUBLISHED_JSON_SCHEMA_PROPS,
} from "@postern/apimachinery/schema/openapi/json-schema-props";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { SCALE_KIND } from "../discovery/served-resource.ts";
import { definitionName, META_PREFIX } from "./openapi-names.ts";

const typeMeta = {
  apiVersion: s.string().describe("APIVersion defines the versioned schema of this representation of an object."),
  kind: s
    .string()
    .describe("Kind is a string value representing the REST resource this object represents. In CamelCase."),
};

const statusCauseSchema = s
  .object({
    field: s
      .string()
      .describe("The field of the resource that has caused this error, as named by its JSON serialization."),
    message: s
      .string()
      .describe(
        "A human-readable description of the cause of the error. This field may be presented as-is to a reader.",
      ),
    reason: s
      .string()
      .describe(
        "A machine-readable description of the cause of the error. If this value is empty there is no information available.",
      ),
  })
  .describe(
    "StatusCause provides more information about an api.Status failure, including cases when multiple errors are encountered.",
  ).schema;

const statusDetailsSchema = s
  .object({
    causes: s
      .list(s.field(statusCauseSchema))
      .describe("The Causes array includes more details associated with the StatusReason failure."),
    group: s.string().describe("The group attribute of the resource associated with the status StatusReason."),
    kind: s.string().describe("The kind attribute of the resource associated with the status StatusReason."),
    name: s
      .string()
      .describe(
        "The name attribute of the resource associated with the status StatusReason (when there is a single name which can be described).",
      ),
    retryAfterSeconds: s.int32().describe("If specified, the time in seconds before the operation should be retried."),
    uid: s.string().describe("UID of the resource. (when there is a single resource which can be described)."),
  })
  .describe(
    "StatusDetails is a set of additional properties that MAY be set by the server to provide additional information about a response.",
  ).schema;

const statusSchema = s
  .object({
    ...typeMeta,
    code: s.int32().describe("Suggested HTTP return code for this status, 0 if not set."),
    details: s.field(statusDetailsSchema),
    message: s.string().describe("A human-readable description of the status of this operation."),
    metadata: s.field(listMetaSchema),
    reason: s.string().describe('A machine-readable description of why this operation is in the "Failure" status.'),
    status: s.string().describe('Status of the operation. One of: "Success" or "Failure".'),
  })
  .describe("Status is a return value for calls that don't return other objects.").schema;

const preconditionsSchema = s
  .object({
    resourceVersion: s.string().describe("Specifies the target ResourceVersion"),
    uid: s.string().describe("Specifies the target UID."),
  })
  .describe("Preconditions must be fulfilled before an operation (update, delete, etc.) is carried out.").schema;

const deleteOptionsSchema = s
  .object({
    ...typeMeta,
    dryRun: s.list(s.string()).describe("When present, indicates that modifications should not be persisted."),
    gracePeriodSeconds: s
      .int64()
      .describe("The duration in seconds before the object should be deleted. Value must be non-negative integer."),
    ignoreStoreReadErrorWithClusterBreakingPotential: s
      .boolean()
      .describe(
        "if set to true, it will trigger an unsafe deletion of the resource in case the normal deletion flow fails with a corrupt object error.",
      ),
    orphanDependents: s
      .boolean()
      .describe(
        "Deprecated: please use the PropagationPolicy, this field will be deprecated in 1.7. Should the dependent objects be orphaned.",
      ),
    preconditions: s.field(preconditionsSchema),
    propagationPolicy: s
      .string()
      .describe(
        "Whether and how garbage collection will be performed. Either this field or OrphanDependents may be set, but not both.",
      ),
  })
  .describe("DeleteOptions may be provided when deleting an API object.").schema;

const patchSchema: StructuralSchema = {
  type: "object",
  description:
    "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body. Its format depends on the Content-Type.",
};

const watchEventSchema: StructuralSchema = {
  type: "object",
  description: "Event represents a single event to a watched resource.",
  required: ["type", "object"],
  properties: {
    object: {
      type: "object",
      description: "The object after the event; before it when it was deleted; a Status for an ERROR.",
      "x-kubernetes-preserve-unknown-fields": true,
    },
    type: { type: "string", description: "`ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`." },
  },
};

const scaleSpecSchema = s
  .object({ replicas: s.int32().describe("replicas is the desired number of instances for the scaled object.") })
  .describe("ScaleSpec describes the attributes of a scale subresource.").schema;

const scaleStatusSchema = s
  .object({
    replicas: s
      .int32()
      .required()
      .describe("replicas is the actual number of observed instances of the scaled object."),
    selector: s.string().describe("selector is the label query over pods that should match the replicas count."),
  })
  .describe("ScaleStatus represents the current status of a scale subresource.").schema;

const scaleSchema = kindSchema(
  s
    .object({ spec: s.field(scaleSpecSchema), status: s.field(scaleStatusSchema) })
    .describe("Scale represents a scaling request for a resource.").schema,
);

const apiResourceSchema = s
  .object({
    categories: s.list(s.string()).describe("categories is a list of the grouped resources this resource belongs to."),
    group: s.string().describe("group is the preferred group of the resource. Empty: that of the resource list."),
    kind: s.string().required().describe("kind is the kind for the resource."),
    name: s.string().required().describe("name is the plural name of the resource."),
    namespaced: s.boolean().required().describe("namespaced indicates if a resource is namespaced or not."),
    shortNames: s.list(s.string()).describe("shortNames is a list of suggested short names of the resource."),
    singularName: s.string().required().describe("singularName is the singular name of the resource."),
    storageVersionHash: s.string().describe("The hash value of the storage version."),
    verbs: s.list(s.string()).required().describe("verbs is a list of supported kube verbs."),
    version: s.string().describe("version is the preferred version of the resource. Empty: that of the resource list."),
  })
  .describe("APIResource specifies the name of a resource and whether it is namespaced.").schema;

const apiResourceListSchema = s
  .object({
    ...typeMeta,
    groupVersion: s.string().required().describe("groupVersion is the group and version this APIResourceList is for."),
    resources: s
      .list(s.field(apiResourceSchema))
      .required()
      .describe("resources contains the name of the resources and if they are namespaced."),
  })
  .describe("APIResourceList names the resources of a version.").schema;

/** Named as kubectl and other clients know them. */
export const SHARED_COMPONENTS: ReadonlyMap<StructuralSchema, string> = new Map([
  ...META_COMPONENTS,
  [statusSchema, `${META_PREFIX}Status`],
  [statusDetailsSchema, `${META_PREFIX}StatusDetails`],
  [statusCauseSchema, `${META_PREFIX}StatusCause`],
  [deleteOptionsSchema, `${META_PREFIX}DeleteOptions`],
  [preconditionsSchema, `${META_PREFIX}Preconditions`],
  [patchSchema, `${META_PREFIX}Patch`],
  [watchEventSchema, `${META_PREFIX}WatchEvent`],
  [apiResourceListSchema, `${META_PREFIX}APIResourceList`],
  [apiResourceSchema, `${META_PREFIX}APIResource`],
  [scaleSchema, definitionName(SCALE_KIND)],
  [scaleSpecSchema, definitionName({ ...SCALE_KIND, kind: "ScaleSpec" })],
  [scaleStatusSchema, definitionName({ ...SCALE_KIND, kind: "ScaleStatus" })],
  [JSON_SCHEMA_PROPS, JSON_SCHEMA_PROPS_NAME],
]);

/** Schemas that are published in another form than the one that objects are checked against. */
export const PUBLISHED_FORMS: ReadonlyMap<StructuralSchema, StructuralSchema> = new Map([
  [JSON_SCHEMA_PROPS, PUBLISHED_JSON_SCHEMA_PROPS],
]);

/** The kinds of shared schemas; options and events belong to every served version. */
export function sharedKinds(
  served: readonly GroupVersion[],
): ReadonlyMap<StructuralSchema, readonly GroupVersionKind[]> {
  const core = { group: "", version: "v1" };
  const versions = [core, ...served.filter(({ group, version }) => group !== "" || version !== "v1")];
  const inEveryVersion = (kind: string) => versions.map(({ group, version }) => ({ group, version, kind }));
  return new Map([
    [statusSchema, [{ ...core, kind: "Status" }]],
    [deleteOptionsSchema, inEveryVersion("DeleteOptions")],
    [watchEventSchema, inEveryVersion("WatchEvent")],
    [apiResourceListSchema, [{ ...core, kind: "APIResourceList" }]],
    [scaleSchema, [SCALE_KIND]],
  ]);
}
