// Fields of types as Kubernetes publishes them. They are made of their tables when this module is loaded, each once.
//
// A table is a line for the type, then one for each member: `name type flags`. Before a type, `[]` is a list and `{}` a map. `required` is published
// alone: the validation of the kind says what is missing, in upstream's words.

import { type Field, s } from "@postern/apimachinery/schema/builder";
import { objectMetaSchema } from "@postern/apimachinery/schema/object-meta-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { quantity } from "../quotas/quantities.ts";
import { CORE_TYPES } from "./core-types.ts";
import { DEVICE_TYPES } from "./device-types.ts";
import { VOLUME_TYPES } from "./volume-types.ts";

const SCALARS: { readonly [type: string]: StructuralSchema } = {
  string: s.string().schema,
  boolean: s.boolean().schema,
  int32: s.int32().schema,
  int64: s.int64().schema,
  bytes: s.bytes().schema,
  time: s.timestamp().schema,
  quantity: quantity.schema,
  raw: { ...s.any().schema, "x-kubernetes-map-type": "atomic" },
  intOrString: s.intOrString().schema,
  metadata: objectMetaSchema,
};

/** Keywords of flags that have a value. */
const KEYWORDS: { readonly [flag: string]: keyof StructuralSchema } = {
  map: "x-kubernetes-map-type",
  merge: "x-kubernetes-patch-merge-key",
  strategy: "x-kubernetes-patch-strategy",
};

const tables = new Map(
  [CORE_TYPES, DEVICE_TYPES, VOLUME_TYPES]
    .flatMap((text) => text.trim().split(/\n(?! )/))
    .map((table): [string, string] => [/^\w+/.exec(table)?.[0] ?? "", table]),
);
const schemas = new Map<string, StructuralSchema>();

/** A field of a published type of core/v1 or resource.k8s.io/v1, such as `Affinity`. `T`: as its readers see it. */
export const publishedField = <T>(type: string): Field<T> => s.field<T>(schemaOf(type));

function schemaOf(type: string): StructuralSchema {
  const schema = SCALARS[type] ?? schemas.get(type) ?? makeSchema(type);
  if (!(type in SCALARS)) schemas.set(type, schema);
  return schema;
}

function makeSchema(type: string): StructuralSchema {
  const table = tables.get(type);
  if (table === undefined) throw new Error(`no published type ${type}`);
  const [head = "", ...lines] = table.split("\n");
  const members = lines.map((line) => line.trim().split(" "));
  const required = members.filter(([, , ...flags]) => flags.includes("required")).map(([name]) => name ?? "");
  return {
    type: "object",
    properties: Object.fromEntries(members.map(([name, type = "", ...flags]) => [name, memberSchema(type, flags)])),
    ...(head.endsWith(" atomic") ? { "x-kubernetes-map-type": "atomic" } : {}),
    ...(required.length === 0 ? {} : { publishedRequired: required }),
  };
}

function memberSchema(type: string, flags: readonly string[]): StructuralSchema {
  const values = flags.flatMap((flag): readonly (readonly [string, string])[] => {
    const [name = "", value] = flag.split("=");
    const keyword = KEYWORDS[name];
    return keyword === undefined || value === undefined ? [] : [[keyword, value]];
  });
  return {
    ...typeSchema(type, flags),
    ...(flags.includes("nullable") ? { nullable: true } : {}),
    ...Object.fromEntries(values),
  };
}

function typeSchema(type: string, flags: readonly string[]): StructuralSchema {
  if (type.startsWith("{}")) return { type: "object", additionalProperties: schemaOf(type.slice(2)) };
  if (!type.startsWith("[]")) return schemaOf(type);
  const keys = flags
    .find((flag) => flag.startsWith("keys="))
    ?.slice("keys=".length)
    .split(",");
  return {
    type: "array",
    items: schemaOf(type.slice(2)),
    ...(keys === undefined
      ? { "x-kubernetes-list-type": flags.includes("set") ? "set" : "atomic" }
      : { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys }),
  };
}
