// Gives submitted metadata its type: refuses what cannot be read, drops and names what is unknown.

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { findMetadataFault } from "@postern/apimachinery/schema/metadata-fault";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import { pruneUnknownFields } from "@postern/apimachinery/schema/prune";
import { quoteGo } from "@postern/apimachinery/text/go-quote";

export type ReadMetadata = {
  readonly metadata: ObjectMeta;
  /** Such as `metadata.bogus`. */
  readonly unknownPaths: readonly string[];
};

/** Throws 400 with the text of Go's decoder. */
export function readMetadata(
  value: JsonValue,
  { kind, version }: { readonly kind: string; readonly version: string },
): ReadMetadata {
  const fault = findMetadataFault(value);
  if (fault !== undefined) {
    throw badRequestError(`${kind} in version ${quoteGo(version)} cannot be handled as a ${kind}: ${fault}`);
  }
  const { value: known, unknownPaths } = pruneUnknownFields(value, objectMetaSchema);
  return {
    // findMetadataFault has seen the type of every member.
    metadata: withoutNulls(isJsonObject(known) ? known : {}) as ObjectMeta,
    unknownPaths: unknownPaths.map((path) => `metadata.${path}`),
  };
}

/** A null is an absent member to every field of metadata. */
function withoutNulls(metadata: { readonly [member: string]: JsonValue | undefined }) {
  const members = Object.entries(metadata);
  const kept = members.filter(([, value]) => value !== null && value !== undefined);
  return kept.length === members.length ? metadata : Object.fromEntries(kept);
}
