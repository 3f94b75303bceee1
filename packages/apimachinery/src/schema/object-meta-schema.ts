// The schemas of metadata, for OpenAPI documents, apply and the search for unknown fields.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go

import { s } from "./builder.ts";
import type { StructuralSchema } from "./structural-schema.ts";

export const ownerReferenceSchema: StructuralSchema = s
  .object(
    {
      apiVersion: s.string().required().describe("Group and version of the owner."),
      kind: s.string().required().describe("Kind of the owner."),
      name: s.string().required().describe("Name of the owner."),
      uid: s.string().required().describe("UID of the owner: a new object of the same name is another owner."),
      controller: s.boolean().describe("Set on the one owner that manages this object."),
      blockOwnerDeletion: s
        .boolean()
        .describe(
          "A foreground deletion of the owner waits until this object is gone. Needs the right to delete the owner.",
        ),
    },
    { atomic: true },
  )
  .describe("Another object, in the same namespace or cluster-wide, on whose life this one depends.").schema;

export const managedFieldsEntrySchema: StructuralSchema = s
  .object({
    manager: s.string().describe("Who made the change."),
    operation: s.string().describe("How: Apply or Update."),
    apiVersion: s.string().describe("The version of the kind that the fields are named in."),
    time: s.timestamp().describe("When the fields of this entry last changed."),
    fieldsType: s.string().describe("The format of the fields. FieldsV1 is the only one."),
    fieldsV1: s.anyObject().describe("The fields, as a tree of their names."),
    subresource: s.string().describe("The subresource the change was made through; empty for the object itself."),
  })
  .describe("The fields one manager owns by one kind of write.").schema;

const finalizersSchema: StructuralSchema = {
  ...s.set(s.string()).schema,
  description: "What has to be done before the object may go. A deletion waits until the list is empty.",
  "x-kubernetes-patch-strategy": "merge",
};

const ownerReferencesSchema: StructuralSchema = {
  type: "array",
  items: ownerReferenceSchema,
  description: "The objects this one depends on. It is collected when all of them are gone.",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["uid"],
  "x-kubernetes-patch-strategy": "merge",
  "x-kubernetes-patch-merge-key": "uid",
};

export const objectMetaSchema: StructuralSchema = s
  .object({
    name: s.string().describe("Unique among the objects of the kind in the namespace. Fixed once created."),
    generateName: s.string().describe("A prefix the server completes to a unique name where no name is given."),
    namespace: s.string().describe("Where the object lives. Empty for kinds that are cluster-wide."),
    uid: s.string().describe("Given by the server. Never used twice, even when a name is."),
    resourceVersion: s
      .string()
      .describe("Changes with every write. Opaque; sent back, it guards against lost updates."),
    generation: s.int64().describe("Goes up by one whenever the desired state changes. Given by the server."),
    creationTimestamp: s.timestamp().describe("When the object was created, in UTC. Given by the server."),
    deletionTimestamp: s.timestamp().describe("When the deletion was asked for. Set while finalizers hold the object."),
    deletionGracePeriodSeconds: s.int64().describe("Seconds the object was given to end by itself."),
    labels: s.map(s.string()).describe("Short values to select objects by."),
    annotations: s.map(s.string()).describe("Free text for tools to keep with the object. 256 KiB in all."),
    ownerReferences: s.field(ownerReferencesSchema),
    finalizers: s.field(finalizersSchema),
    managedFields: s
      .list(s.field(managedFieldsEntrySchema))
      .describe("Which manager owns which field. Kept by the server for server-side apply."),
    selfLink: s.string().describe("Not filled in any more."),
  })
  .describe("What every persisted object carries: its identity, its place and its bookkeeping.").schema;

export const listMetaSchema: StructuralSchema = s
  .object({
    resourceVersion: s.string().describe("The state of the store that the list shows. A watch can start from it."),
    continue: s.string().describe("Set while there is more: send it back for the next page."),
    remainingItemCount: s.int64().describe("How many objects follow this page, where that is known."),
    selfLink: s.string().describe("Not filled in any more."),
  })
  .describe("What every list carries.").schema;

/** Names of the shared schemas in OpenAPI documents. Clients such as `kubectl explain` know them. */
export const META_COMPONENTS: ReadonlyMap<StructuralSchema, string> = new Map([
  [objectMetaSchema, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"],
  [listMetaSchema, "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"],
  [ownerReferenceSchema, "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"],
  [managedFieldsEntrySchema, "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry"],
]);
