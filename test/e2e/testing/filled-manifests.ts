// One manifest with a value in every field that a schema has, as a server publishes it: what is served tomorrow is filled by itself.

export type Schema = {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
};

export type Schemas = { readonly [name: string]: Schema };

/** Value for a place such as `spec.owner.user` or `spec.members[].name`; undefined where any value of its type will do. */
export type Values = (place: string) => unknown;

const TEXTS_BY_FORMAT: { readonly [format: string]: string } = { "date-time": "2030-01-01T00:00:00Z", byte: "YQ==" };

/** Places below the schema that hold a value, in lists as `[]`, in maps as `*`. */
export function placesOf(schema: Schema, schemas: Schemas, place = ""): readonly string[] {
  const { properties, items, additionalProperties } = resolved(schema, schemas);
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, below]) => placesOf(below, schemas, join(place, name)));
  }
  if (items !== undefined) return placesOf(items, schemas, `${place}[]`);
  if (typeof additionalProperties === "object") return placesOf(additionalProperties, schemas, `${place}.*`);
  return [place];
}

/** A value with all of these places in it, and no others; undefined where there is none of them. */
export function filled(
  schema: Schema,
  schemas: Schemas,
  places: ReadonlySet<string>,
  values: Values,
  place = "",
): unknown {
  const { properties, items, additionalProperties, type, format, enum: choices, minimum } = resolved(schema, schemas);
  if (properties !== undefined) {
    const members = Object.entries(properties).flatMap(([name, below]) => {
      const value = filled(below, schemas, places, values, join(place, name));
      return value === undefined ? [] : [[name, value] as const];
    });
    return members.length === 0 ? undefined : Object.fromEntries(members);
  }
  if (items !== undefined) {
    const item = filled(items, schemas, places, values, `${place}[]`);
    return item === undefined ? undefined : [item];
  }
  if (typeof additionalProperties === "object") {
    const entry = filled(additionalProperties, schemas, places, values, `${place}.*`);
    return entry === undefined ? undefined : { [String(values(`${place}.*name`) ?? "any")]: entry };
  }
  if (!places.has(place)) return undefined;
  const given = values(place);
  if (given !== undefined) return given;
  if (choices !== undefined) return choices.find((choice) => choice !== "");
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return Math.max(minimum ?? 1, 1);
  if (type === "string") return TEXTS_BY_FORMAT[format ?? ""] ?? `text-of-${place.replaceAll(/[^A-Za-z]+/g, "-")}`;
  return { kept: { as: ["it", "is"] } };
}

const join = (place: string, name: string): string => (place === "" ? name : `${place}.${name}`);

function resolved(schema: Schema, schemas: Schemas): Schema {
  const [only] = schema.allOf ?? [];
  const reference = schema.$ref ?? only?.$ref;
  return reference === undefined ? schema : resolved(schemas[reference.split("/").at(-1) ?? ""] ?? {}, schemas);
}
