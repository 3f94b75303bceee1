// The schemas of metadata, for OpenAPI documents, apply and the search for unknown fields.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go

import { s } from "./builder.ts";
import type { StructuralSchema } from "./structural-schema.ts";

export const ownerReferenceSchema: StructuralSchema = s
  .object(
    {
      apiVersion: s.string().required().describe("Group and version of the owner."),
      kind: s.string().required().describe("Kind of the owner."),
      name: s.string().required().describe("Name of the referent."),
      uid: s.string().required().describe("UID of the referent."),
      controller: s.boolean().describe("If true, this reference points to the managing controller."),
      blockOwnerDeletion: s
        .boolean()
        .describe(
          'If true, AND if the owner has the "foregroundDeletion" finalizer, then the owner cannot be deleted from the key-value store until this reference is removed.',
        ),
    },
    { atomic: true },
  )
  .describe("OwnerReference contains enough information to let you identify an owning object.").schema;

export const managedFieldsEntrySchema: StructuralSchema = s
  .object({
    manager: s.string().describe("Manager is an identifier of the workflow managing these fields."),
    operation: s
      .string()
      .describe("Operation is the type of operation which lead to this ManagedFieldsEntry being created."),
    apiVersion: s.string().describe("The version of the kind that the fields are named in."),
    time: s.timestamp().describe("Time is the timestamp of when the ManagedFields entry was added."),
    fieldsType: s.string().describe("FieldsType is the discriminator for the different fields format and version."),
    fieldsV1: s
      .anyObject()
      .describe('FieldsV1 holds the first JSON version format as described in the "FieldsV1" type.'),
    subresource: s
      .string()
      .describe(
        "Subresource is the name of the subresource used to update that object, or empty string if the object was updated through the main resource.",
      ),
  })
  .describe(
    "ManagedFieldsEntry is a workflow-id, a FieldSet and the group version of the resource that the fieldset applies to.",
  ).schema;

const finalizersSchema: StructuralSchema = {
  ...s.set(s.string()).schema,
  description: "Must be empty before the object is deleted from the registry.",
  "x-kubernetes-patch-strategy": "merge",
};

const ownerReferencesSchema: StructuralSchema = {
  type: "array",
  items: ownerReferenceSchema,
  description:
    "List of objects depended by this object. If ALL objects in the list have been deleted, this object will be garbage collected.",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["uid"],
  "x-kubernetes-patch-strategy": "merge",
  "x-kubernetes-patch-merge-key": "uid",
};

export const objectMetaSchema: StructuralSchema = s
  .object({
    name: s.string().describe("Name must be unique within a namespace."),
    generateName: s
      .string()
      .describe(
        "GenerateName is an optional prefix, used by the server, to generate a unique name ONLY IF the Name field has not been provided.",
      ),
    namespace: s.string().describe("Namespace defines the space within which each name must be unique."),
    uid: s.string().describe("UID is the unique in time and space value for this object."),
    resourceVersion: s
      .string()
      .describe(
        "An opaque value that represents the internal version of this object that can be used by clients to determine when objects have changed.",
      ),
    generation: s
      .int64()
      .describe(
        "A sequence number representing a specific generation of the desired state. Populated by the system. Read-only.",
      ),
    creationTimestamp: s
      .timestamp()
      .describe("CreationTimestamp is a timestamp representing the server time when this object was created."),
    deletionTimestamp: s
      .timestamp()
      .describe("DeletionTimestamp is RFC 3339 date and time at which this resource will be deleted."),
    deletionGracePeriodSeconds: s
      .int64()
      .describe(
        "Number of seconds allowed for this object to gracefully terminate before it will be removed from the system.",
      ),
    labels: s
      .map(s.string())
      .describe(
        "Map of string keys and values that can be used to organize and categorize (scope and select) objects.",
      ),
    annotations: s
      .map(s.string())
      .describe(
        "Annotations is an unstructured key value map stored with a resource that may be set by external tools to store and retrieve arbitrary metadata.",
      ),
    ownerReferences: s.field(ownerReferencesSchema),
    finalizers: s.field(finalizersSchema),
    managedFields: s
      .list(s.field(managedFieldsEntrySchema))
      .describe("ManagedFields maps workflow-id and version to the set of fields that are managed by that workflow."),
    selfLink: s
      .string()
      .describe("Deprecated: selfLink is a legacy read-only field that is no longer populated by the system."),
  })
  .describe(
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  ).schema;

export const listMetaSchema: StructuralSchema = s
  .object({
    resourceVersion: s
      .string()
      .describe(
        "String that identifies the server's internal version of this object that can be used by clients to determine when objects have changed.",
      ),
    continue: s
      .string()
      .describe(
        "continue may be set if the user set a limit on the number of items returned, and indicates that the server has more data available.",
      ),
    remainingItemCount: s
      .int64()
      .describe(
        "remainingItemCount is the number of subsequent items in the list which are not included in this list response.",
      ),
    selfLink: s
      .string()
      .describe("Deprecated: selfLink is a legacy read-only field that is no longer populated by the system."),
  })
  .describe(
    "ListMeta describes metadata that synthetic resources must have, including lists and various status objects.",
  ).schema;

/** Names of the shared schemas in OpenAPI documents. Clients such as `kubectl explain` know them. */
export const META_COMPONENTS: ReadonlyMap<StructuralSchema, string> = new Map([
  [objectMetaSchema, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"],
  [listMetaSchema, "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"],
  [ownerReferenceSchema, "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"],
  [managedFieldsEntrySchema, "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry"],
]);
