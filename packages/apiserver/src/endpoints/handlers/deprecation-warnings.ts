// Warns about deprecated fields in a request, and names their replacements.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { findDeprecatedFields } from "@postern/apimachinery/schema/deprecation";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { WarningRecorder } from "../../context/request-context.ts";
import type { InstalledResource } from "../../registry/resource-registry.ts";

/** `schema` is that of the object: the resource's own, or that of a subresource's body. */
export function addDeprecationWarnings(
  { definition, deprecationsOf }: InstalledResource,
  object: KubeObject,
  warnings: WarningRecorder,
  schema: StructuralSchema = definition.schema,
): void {
  for (const { path, message } of findDeprecatedFields(object, deprecationsOf(schema))) {
    warnings.add(`${path}: ${message}`);
  }
}
