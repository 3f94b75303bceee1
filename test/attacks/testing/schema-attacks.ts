// Makes, from the schemas that a server publishes, one hostile object for each field of each kind.

import { randomBytes } from "node:crypto";

type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly properties?: { readonly [name: string]: Schema };
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
};

type Operation = {
  readonly parameters?: readonly { readonly in: string; readonly schema?: Schema }[];
  readonly "x-kubernetes-group-version-kind"?: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  };
};

export type OpenApi = {
  readonly definitions: { readonly [name: string]: Schema };
  readonly paths: { readonly [path: string]: { readonly post?: Operation } };
};

export type FieldAttack = {
  /** The collection that it is sent to. */
  readonly path: string;
  readonly kind: string;
  readonly field: string;
  /** A body with about so many bytes in that field. */
  body(size: number): object;
};

type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };

const MAX_DEPTH = 7;

/** Texts on which careless expressions and loops take quadratic time, one behind the other. */
const PUMPS = [
  ".",
  "*",
  "/",
  "-",
  "a-",
  "a.",
  "[",
  '\\"',
  "\\",
  " ",
  "\n",
  "eyJ---",
  "=",
  "0",
  "%",
  "a/",
  ",",
  "$(",
  "{{",
  "-----BEGIN A-----",
  "é",
  "@",
  "system:",
  "!",
  "&a ",
];

export function hostileText(size: number): string {
  const share = Math.floor(size / PUMPS.length);
  return PUMPS.map((pump) => `${pump.repeat(Math.floor(share / pump.length))}x`).join("\u0001");
}

const CREDENTIAL = /\b(key|idToken|accessToken|refreshToken|connectorData|accessKey|token)$/;

/** Differs each time: the scan for leaks would find one text in every other field. */
const hostileCredential = (size: number): string => `${randomBytes(16).toString("hex")}${hostileText(size)}`;

/** Every field of every kind that can be created, also those of lists and maps, by its path. */
export function fieldAttacks({ definitions, paths }: OpenApi): readonly FieldAttack[] {
  const attacks: FieldAttack[] = [];
  for (const [path, { post }] of Object.entries(paths)) {
    const gvk = post?.["x-kubernetes-group-version-kind"];
    const schema = post?.parameters?.find((parameter) => parameter.in === "body")?.schema;
    if (gvk === undefined || schema === undefined) continue;
    const apiVersion = gvk.group === "" ? gvk.version : `${gvk.group}/${gvk.version}`;
    const base = { apiVersion, kind: gvk.kind, metadata: { name: "attack" } };
    const add = (field: string, wrap: (value: Value) => Value, value: (size: number) => Value): void => {
      attacks.push({
        path: path.replaceAll(/\{[^}]*\}/g, "default"),
        kind: gvk.kind,
        field,
        body: (size) => merge(base, wrap(value(size))),
      });
    };
    visit(schema, [], (value) => value, add, definitions, 0);
  }
  return attacks;
}

type Add = (field: string, wrap: (value: Value) => Value, value: (size: number) => Value) => void;

function visit(
  given: Schema,
  steps: readonly string[],
  wrap: (value: Value) => Value,
  add: Add,
  definitions: OpenApi["definitions"],
  depth: number,
): void {
  const schema = resolve(given, definitions);
  const field = steps.join(".");
  if (depth > MAX_DEPTH || /managedFields/.test(field)) return;
  const { properties, items, additionalProperties } = schema;
  if (properties !== undefined) {
    for (const [name, member] of Object.entries(properties)) {
      if (steps.length === 0 && ["apiVersion", "kind"].includes(name)) continue;
      visit(member, [...steps, name], (value) => wrap({ [name]: value }), add, definitions, depth + 1);
    }
  } else if (schema.type === "array" && items !== undefined) {
    const item = sample(items, definitions, depth);
    add(field, wrap, (size) => many(size, item));
    add(`${field} (one item)`, wrap, (size) => many(size, () => item(0)));
    visit(items, [...steps, "[]"], (value) => wrap([value]), add, definitions, depth + 1);
  } else if (typeof additionalProperties === "object") {
    const item = sample(additionalProperties, definitions, depth);
    add(field, wrap, (size) => Object.fromEntries(many(size, (at) => [`example.com/key-${at}`, item(at)] as const)));
    visit(additionalProperties, [...steps, "*"], (value) => wrap({ entry: value }), add, definitions, depth + 1);
  } else if (schema.type === "string") add(field, wrap, CREDENTIAL.test(field) ? hostileCredential : hostileText);
  else if (schema.type === undefined || schema.type === "object") {
    add(field, wrap, (size) => Object.fromEntries(many(size, (at) => [`key-${at}`, at] as const)));
  }
}

/** As many as make a body of that size. */
function many<T>(size: number, item: (at: number) => T): T[] {
  const length = JSON.stringify(item(100_000)).length + 1;
  return Array.from({ length: Math.ceil(size / length) }, (_, at) => item(at));
}

/** A small value of a schema, another one for each number. */
function sample(given: Schema, definitions: OpenApi["definitions"], depth: number): (at: number) => Value {
  const schema = resolve(given, definitions);
  if (schema.type === "integer" || schema.type === "number") return (at) => at;
  if (schema.type === "boolean") return () => true;
  if (schema.type === "string") return (at) => `name-${at}`;
  if (schema.type === "array" && schema.items !== undefined) {
    if (depth > MAX_DEPTH) return () => [];
    const item = sample(schema.items, definitions, depth + 1);
    return (at) => [item(at)];
  }
  const texts = Object.entries(schema.properties ?? {}).filter(
    ([, member]) => resolve(member, definitions).type === "string",
  );
  return (at) => Object.fromEntries(texts.slice(0, 4).map(([name]) => [name, `name-${at}`]));
}

function resolve(schema: Schema, definitions: OpenApi["definitions"]): Schema {
  const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
  if (ref === undefined) return schema;
  return definitions[ref.slice(ref.lastIndexOf("/") + 1)] ?? {};
}

function merge(base: Value, more: Value): object {
  if (!isObject(base) || !isObject(more)) throw new TypeError("not an object");
  const result: Record<string, Value> = { ...base };
  for (const [name, value] of Object.entries(more)) {
    const known = result[name];
    result[name] = isObject(known) && isObject(value) ? (merge(known, value) as Value) : value;
  }
  return result;
}

const isObject = (value: Value | undefined): value is { readonly [name: string]: Value } =>
  typeof value === "object" && value !== null && !Array.isArray(value);
