// System metadata: set on create, and restored on update.
// Source: k8s.io/apiserver/pkg/registry/rest/meta.go

import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Runtime } from "../../../runtime/clock.ts";
import { newUid } from "../../../runtime/new-uid.ts";
import type { ResourceDefinition } from "../../resource-definition.ts";

/** Metadata of a new object: what the client may say is kept, what only the server knows is filled in. */
export function metaForCreate(
  meta: ObjectMeta,
  definition: ResourceDefinition,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { clock, random }: Runtime,
): ObjectMeta {
  const made: { -readonly [member in keyof ObjectMeta]: ObjectMeta[member] } = { ...ownOf(meta) };
  if (name !== "") made.name = name;
  if (definition.namespaced) made.namespace = namespace;
  made.uid = newUid(random);
  made.creationTimestamp = formatTimestamp(clock.now());
  const generation = definition.tracksGeneration === false ? meta.generation : 1;
  if (generation !== undefined) made.generation = generation;
  return made;
}

/** Without what a new object gets. Most have nothing of it, and a copy without some members takes several times as long as one with all. */
function ownOf(meta: ObjectMeta): ObjectMeta {
  const isOwn = MADE_ANEW.every((member) => meta[member] === undefined);
  if (isOwn) return meta;
  const {
    namespace: _namespace,
    deletionTimestamp: _deleted,
    deletionGracePeriodSeconds: _grace,
    generation: _generation,
    resourceVersion: _version,
    ...own
  } = meta;
  return own;
}

const MADE_ANEW = [
  "namespace",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "resourceVersion",
] as const;

/** The object with other metadata. */
export const withMeta = <T extends KubeObject>(object: T, metadata: ObjectMeta): T =>
  object.metadata === metadata ? object : { ...object, metadata };

/** The object under the resourceVersion of a revision. */
export const withRevision = <T extends KubeObject>(object: T, revision: number): T =>
  withMeta(object, { ...object.metadata, resourceVersion: String(revision) });

/** Clients never change the generation: it is the old one, and counted after that where a kind counts it. */
export function withGenerationOf({ generation: _, ...metadata }: ObjectMeta, { generation }: ObjectMeta): ObjectMeta {
  return generation === undefined ? metadata : { ...metadata, generation };
}
