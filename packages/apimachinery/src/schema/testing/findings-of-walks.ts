// Findings of all the walks that an object goes through where a quick look gives no answer.

import type { JsonValue } from "../../json/json-value.ts";
import { pruneNulls, setDefaults } from "../default.ts";
import { coerceEmbeddedResources } from "../embedded-objects/embedded-resources.ts";
import { validateEmbeddedResources } from "../embedded-objects/validate-embedded-resources.ts";
import { validateListTypes } from "../list-type.ts";
import { pruneUnknownFields } from "../prune.ts";
import type { StructuralSchema } from "../structural-schema.ts";
import { createSchemaValidator } from "../validation/validate-schema.ts";

/** The texts of what they change and refuse. */
export function findingsOfWalks(value: JsonValue, schema: StructuralSchema): readonly string[] {
  const pruned = pruneUnknownFields(value, schema);
  const coerced = coerceEmbeddedResources(value, schema);
  // With alternatives, the schema is beyond a quick look.
  const { validate } = createSchemaValidator({ ...schema, allOf: [...(schema.allOf ?? []), {}] });
  return [
    ...(pruned.value === value ? [] : ["pruned"]),
    ...pruned.unknownPaths,
    ...(coerced.value === value && coerced.fault === undefined ? [] : ["coerced"]),
    ...coerced.unknownPaths,
    ...(pruneNulls(value, schema) === value ? [] : ["nulls"]),
    ...(setDefaults(value, schema) === value ? [] : ["defaults"]),
    ...validate(value).map(({ message }) => message),
    ...validateListTypes(value, schema, "").map(({ message }) => message),
    ...validateEmbeddedResources(value, schema, "").map(({ message }) => message),
  ];
}
