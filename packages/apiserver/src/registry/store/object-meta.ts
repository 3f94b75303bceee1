// System metadata: set on create, and restored on update.
// Source: k8s.io/apiserver/pkg/registry/rest/meta.go

import type { KubeObject, ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Random, Runtime } from "../../runtime/clock.ts";
import type { ResourceDefinition } from "../resource-definition.ts";

/** A random version 4 UUID. */
export function newUid(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, 16).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Metadata of a new object: what the client may say is kept, what only the server knows is filled in. */
export function metaForCreate(
  meta: ObjectMeta,
  definition: ResourceDefinition,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { clock, random }: Runtime,
): ObjectMeta {
  const { namespace: _namespace, deletionTimestamp: _deleted, deletionGracePeriodSeconds: _grace, ...kept } = meta;
  const { generation, resourceVersion: _version, ...own } = kept;
  return {
    ...own,
    ...(name === "" ? {} : { name }),
    ...(definition.namespaced ? { namespace } : {}),
    uid: newUid(random),
    creationTimestamp: formatTimestamp(clock.now()),
    ...generationOf(definition, generation),
  };
}

/** Kinds that do not count it keep what the client says. */
function generationOf({ tracksGeneration }: ResourceDefinition, submitted: number | undefined) {
  if (tracksGeneration !== false) return { generation: 1 };
  return submitted === undefined ? {} : { generation: submitted };
}

/** The object with other metadata. */
export const withMeta = <T extends KubeObject>(object: T, metadata: ObjectMeta): T =>
  object.metadata === metadata ? object : { ...object, metadata };

/** The object under the resourceVersion of a revision. */
export const withRevision = <T extends KubeObject>(object: T, revision: number): T =>
  withMeta(object, { ...object.metadata, resourceVersion: String(revision) });
