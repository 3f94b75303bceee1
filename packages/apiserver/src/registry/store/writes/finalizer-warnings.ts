// Warns about new finalizers that other controllers could mistake for their own.
// Source: k8s.io/apiextensions-apiserver/pkg/registry/customresource/{strategy,validator}.go

import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { ResourceDefinition } from "../../resource-definition.ts";

/** Finalizers without a domain that Kubernetes itself uses. */
const STANDARD_FINALIZERS = new Set(["foregroundDeletion", "orphan", "kubernetes"]);

/** One text for each finalizer without a domain that `old` has not. The built-in kinds never warn of them. */
export function finalizerWarnings(
  { strategicMergePatch }: ResourceDefinition,
  { finalizers = [] }: ObjectMeta,
  old: ObjectMeta | undefined,
): readonly string[] {
  if (finalizers.length === 0 || strategicMergePatch === true) return [];
  const known = new Set(old?.finalizers);
  return [...new Set(finalizers)]
    .filter((finalizer) => !known.has(finalizer) && !finalizer.includes("/") && !STANDARD_FINALIZERS.has(finalizer))
    .toSorted()
    .map(
      (finalizer) =>
        `metadata.finalizers: ${quoteGo(finalizer)}: prefer a domain-qualified finalizer name to avoid accidental conflicts ` +
        "with other finalizer writers",
    );
}
