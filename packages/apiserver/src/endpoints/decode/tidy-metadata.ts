// Removes duplicate owner references, and reports them.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/rest.go (dedupOwnerReferencesAndAddWarning)

import type { KubeObject, OwnerReference } from "@postern/apimachinery/meta/object-meta";
import type { WarningRecorder } from "../../context/request-context.ts";

const DUPLICATE_OWNERS =
  ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such " +
  "requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ";

export function tidyMetadata(object: KubeObject, warnings: WarningRecorder): KubeObject {
  let { metadata } = object;
  if (metadata.ownerReferences !== undefined) {
    const { unique, repeated } = splitRepeated(metadata.ownerReferences);
    if (repeated.length > 0) {
      warnings.add(`${DUPLICATE_OWNERS}${repeated.join(", ")}`);
      metadata = { ...metadata, ownerReferences: unique };
    }
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
