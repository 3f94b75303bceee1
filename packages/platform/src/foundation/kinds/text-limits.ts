// Limits the length of every string in objects of the platform, also of fields without a limit: work on strings is linear in their length.

import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";

/** Characters. Manifests and values of charts are far below. Bytes in base64 are data and no text: the limit of bodies holds for them. */
const MAX_TEXT_LENGTH = 256 * 1024;

/** A definition whose schemas limit every text. Longer ones are refused with 422, which names the field. */
export const withTextLimits = (definition: ResourceDefinition): ResourceDefinition => ({
  ...definition,
  schema: limited(definition.schema),
  ...(definition.subresources === undefined
    ? {}
    : {
        subresources: definition.subresources.map((subresource) =>
          subresource.schema === undefined ? subresource : { ...subresource, schema: limited(subresource.schema) },
        ),
      }),
});

/** Runs for thousands of fields at each start: copies once, without a spread for each member. */
function limited(schema: StructuralSchema): StructuralSchema {
  const { type, properties, items, additionalProperties } = schema;
  const copy: { -readonly [Member in keyof StructuralSchema]: StructuralSchema[Member] } = { ...schema };
  if (type === "string" && schema.enum === undefined && schema.format !== "byte") {
    copy.maxLength = Math.min(schema.maxLength ?? MAX_TEXT_LENGTH, MAX_TEXT_LENGTH);
  }
  if (properties !== undefined) {
    const members: Record<string, StructuralSchema> = {};
    for (const name of Object.keys(properties)) {
      const member = properties[name];
      if (member !== undefined) members[name] = limited(member);
    }
    copy.properties = members;
  }
  if (items !== undefined) copy.items = limited(items);
  if (typeof additionalProperties === "object") copy.additionalProperties = limited(additionalProperties);
  return copy;
}
