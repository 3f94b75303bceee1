// The schemas that every API has beside its own kinds: answers, options, patches, scale.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go, k8s.io/api/autoscaling/v1/types.go

import type { GroupVersion, GroupVersionKind } from "@postern/apimachinery/meta/group-version";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { listMetaSchema, META_COMPONENTS } from "@postern/apimachinery/schema/object-meta-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { SCALE_KIND } from "../discovery/served-resource.ts";
import { definitionName, META_PREFIX } from "./openapi-names.ts";

const typeMeta = {
  apiVersion: s.string().describe("Group and version of this representation."),
  kind: s.string().describe("The kind of this object, in CamelCase."),
};

const statusCauseSchema = s
  .object({
    field: s.string().describe("Path of the field that the cause is about, such as `spec.ports[0].name`."),
    message: s.string().describe("The cause for people."),
    reason: s.string().describe("The cause for programs."),
  })
  .describe("One of the causes of a failure, often one bad field.").schema;

const statusDetailsSchema = s
  .object({
    causes: s.list(s.field(statusCauseSchema)).describe("All that is wrong, where more than one thing can be."),
    group: s.string().describe("Group of the resource concerned."),
    kind: s.string().describe("The resource concerned, or its kind."),
    name: s.string().describe("Name of the object concerned."),
    retryAfterSeconds: s.int32().describe("After how many seconds it is worth trying again."),
    uid: s.string().describe("UID of the object concerned."),
  })
  .describe("What a Status says for programs, beside its reason.").schema;

const statusSchema = s
  .object({
    ...typeMeta,
    code: s.int32().describe("The HTTP status code."),
    details: s.field(statusDetailsSchema),
    message: s.string().describe("What happened, for people."),
    metadata: s.field(listMetaSchema),
    reason: s.string().describe("Why it failed, one word for programs. The code says less."),
    status: s.string().describe("`Success` or `Failure`."),
  })
  .describe("The answer to requests that have no object to answer with, and to all that fail.").schema;

const preconditionsSchema = s
  .object({
    resourceVersion: s.string().describe("The version that the object must have."),
    uid: s.string().describe("The UID that the object must have."),
  })
  .describe("What must hold of the object, or nothing is done.").schema;

const deleteOptionsSchema = s
  .object({
    ...typeMeta,
    dryRun: s.list(s.string()).describe("`All`: every check is made, and nothing is deleted."),
    gracePeriodSeconds: s.int64().describe("How long the object may take to end; 0 means at once."),
    ignoreStoreReadErrorWithClusterBreakingPotential: s
      .boolean()
      .describe("Deletes an object that can no longer be read from the store. Not supported here."),
    orphanDependents: s.boolean().describe("Deprecated, use propagationPolicy."),
    preconditions: s.field(preconditionsSchema),
    propagationPolicy: s
      .string()
      .describe("What happens to the objects that this one owns: `Orphan`, `Background` or `Foreground`."),
  })
  .describe("How an object is to be deleted.").schema;

const patchSchema: StructuralSchema = {
  type: "object",
  description: "A change to an object, in the form that the Content-Type names.",
};

const watchEventSchema: StructuralSchema = {
  type: "object",
  description: "One event of a watch.",
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
  .object({ replicas: s.int32().describe("How many replicas are wanted.") })
  .describe("The wanted scale.").schema;

const scaleStatusSchema = s
  .object({
    replicas: s.int32().required().describe("How many replicas were last seen."),
    selector: s.string().describe("Selects the replicas, as the text of a label selector."),
  })
  .describe("The scale as it is.").schema;

const scaleSchema = kindSchema(
  s
    .object({ spec: s.field(scaleSpecSchema), status: s.field(scaleStatusSchema) })
    .describe("How many replicas something has and should have.").schema,
);

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
  [scaleSchema, definitionName(SCALE_KIND)],
  [scaleSpecSchema, definitionName({ ...SCALE_KIND, kind: "ScaleSpec" })],
  [scaleStatusSchema, definitionName({ ...SCALE_KIND, kind: "ScaleStatus" })],
]);

/** The kinds that shared schemas stand for; options and events belong to every version that is served. */
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
    [scaleSchema, [SCALE_KIND]],
  ]);
}
