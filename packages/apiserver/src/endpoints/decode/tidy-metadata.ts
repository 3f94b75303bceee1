// Names each owner of an object once, and says what in its metadata is better avoided.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/rest.go (dedupOwnerReferencesAndAddWarning), pkg/registry/rest/create.go

import type { KubeObject, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { isQualifiedName } from "@postern/apimachinery/validation/string-validators";
import type { WarningRecorder } from "../../chain/handler.ts";

const DUPLICATE_OWNERS =
  ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such " +
  "requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ";

/** Finalizers without a domain that Kubernetes itself uses. */
const STANDARD_FINALIZERS = new Set(["foregroundDeletion", "orphan", "kubernetes"]);

export function tidyMetadata(object: KubeObject, warnings: WarningRecorder): KubeObject {
  let { metadata } = object;
  if (metadata.ownerReferences !== undefined) {
    const { unique, repeated } = splitRepeated(metadata.ownerReferences);
    if (repeated.length > 0) {
      warnings.add(`${DUPLICATE_OWNERS}${repeated.join(", ")}`);
      metadata = { ...metadata, ownerReferences: unique };
    }
  }
  for (const finalizer of metadata.finalizers ?? []) {
    if (finalizer.includes("/") || STANDARD_FINALIZERS.has(finalizer) || isQualifiedName(finalizer).length > 0)
      continue;
    warnings.add(
      `metadata.finalizers: ${quoteGo(finalizer)}: prefer a domain-qualified finalizer name to avoid accidental conflicts ` +
        "with other finalizer writers",
    );
  }
  return metadata === object.metadata ? object : { ...object, metadata };
}

function splitRepeated(references: readonly OwnerReference[]) {
  const seen = new Set<string>();
  const repeated = new Set<string>();
  const unique = references.filter(({ uid }) => {
    if (seen.has(uid)) repeated.add(uid);
    return !seen.has(uid) && seen.add(uid) !== undefined;
  });
  return { unique, repeated: [...repeated] };
}
