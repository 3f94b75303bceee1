// Random objects of every kind with a message, made from the tables, to protobuf and back.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../json/json-value.ts";
import { messageKinds } from "./kubernetes-messages.ts";
import { ACCESS_MESSAGES } from "./messages/access.ts";
import { CLUSTER_MESSAGES } from "./messages/cluster.ts";
import { CORE_MESSAGES } from "./messages/core.ts";
import { KIND_MESSAGES } from "./messages/kinds.ts";
import { WORKLOADS_MESSAGES } from "./messages/workloads.ts";
import { decodeProtobufObject, encodeProtobufObject } from "./protobuf-object.ts";

const entriesOf = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line): [string, string] => [line.split(" ")[0]!, line.split(" ").slice(1).join(" ")]);
const tables = new Map(
  entriesOf(
    [ACCESS_MESSAGES, CLUSTER_MESSAGES, CORE_MESSAGES, WORKLOADS_MESSAGES].map((text) => text.trim()).join("\n"),
  ),
);

const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" }),
  fc.constantFrom("a", "é", "x".repeat(200)),
);
const whole = fc.oneof(
  fc.integer(),
  fc.constantFrom(1, -1, 127, 128, 16_384, 2_097_152, 268_435_455, 268_435_456, 2 ** 53 - 1, 2n ** 62n, -(2n ** 63n)),
);
const micros = fc.integer({ min: 0, max: 999_999 });
const second = fc
  .integer({ min: -62_135_596_800, max: 253_402_300_799 })
  .map((seconds) => new Date(seconds * 1000).toISOString())
  .filter((time) => /^\d{4}-/.test(time))
  .map((time) => time.slice(0, 19));
const schema = fc.record({ description: text, nullable: fc.constant(true) });

const SCALARS: { readonly [type: string]: fc.Arbitrary<JsonValue> } = {
  s: text,
  i: whole.filter((value) => value !== 0),
  b: fc.constant(true),
  d: fc.double({ noNaN: true, noDefaultInfinity: true }).filter((value) => value !== 0),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("base64")),
  time: second.map((time) => `${time}Z`),
  microTime: fc.tuple(second, micros).map(([time, part]) => `${time}.${String(part).padStart(6, "0")}Z`),
  raw: fc.record({ a: fc.integer(), b: fc.array(text) }),
  texts: fc.array(text),
  quantity: fc.constantFrom("100m", "1Gi", "0"),
  intOrString: fc.oneof(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), text, fc.constant("")),
  schemaOrBool: fc.oneof(fc.boolean(), schema),
  schemaOrList: fc.oneof(schema, fc.array(schema, { minLength: 1 })),
  schemaOrTexts: fc.oneof(schema, fc.array(text, { minLength: 1 })),
};
const ZEROS: { readonly [type: string]: JsonValue } = { s: "", i: 0, b: false, d: 0 };

/** Objects as Go writes them: what is zero and omitted is absent, structs that are no pointers are there. */
function objectsOf(message: string, depth: number): fc.Arbitrary<{ [member: string]: JsonValue }> {
  const members: { [member: string]: fc.Arbitrary<JsonValue | undefined> } = {};
  let inlined = fc.constant<object>({});
  for (const field of tables.get(message)!.split(" ").filter(Boolean)) {
    const [, name, shape, type, suffix] = /^\d+:([^:]*):(\[\]|\{\})?([^?!]+)([?!]?)$/.exec(field)!;
    const own = SCALARS[type!];
    const nested = type!.includes(".") ? type! : `${message.slice(0, message.lastIndexOf("."))}.${type}`;
    const value =
      own ?? (depth > 0 || (shape === undefined && suffix === "") ? objectsOf(nested, depth - 1) : undefined);
    if (value === undefined) continue;
    if (name === "") inlined = fc.tuple(inlined, value).map(([a, b]) => ({ ...a, ...(b as object) }));
    else if (shape === "[]")
      members[name!] = fc.option(fc.array(value, { minLength: 1, maxLength: 3 }), { nil: undefined });
    else if (shape === "{}")
      members[name!] = fc.option(fc.dictionary(text, value, { minKeys: 1, maxKeys: 3 }), { nil: undefined });
    else if (suffix === "?") {
      const zero = ZEROS[type!];
      members[name!] = fc.option(zero === undefined ? value : fc.oneof(fc.constant(zero), value), { nil: undefined });
    } else if (suffix === "!") members[name!] = fc.oneof(fc.constant(ZEROS[type!]!), value);
    else
      members[name!] =
        own === undefined || type === "quantity" || type === "intOrString" || type === "texts"
          ? value
          : fc.option(value, { nil: undefined });
  }
  return fc
    .tuple(fc.record(members), inlined)
    .map(([object, more]) =>
      Object.fromEntries(Object.entries({ ...object, ...more }).filter(([, v]) => v !== undefined)),
    ) as never;
}

const kinds = entriesOf(KIND_MESSAGES);

describe("objects of each kind", () => {
  it.each(kinds)("are the same after a way through protobuf: %s", (name, message) => {
    const [apiVersion, kind] = [name.slice(0, name.lastIndexOf("/")), name.slice(name.lastIndexOf("/") + 1)];
    fc.assert(
      fc.property(objectsOf(message, 3), (members) => {
        const object = { apiVersion, kind, ...members };
        expect(decodeProtobufObject(encodeProtobufObject(object), { apiVersion: "", kind: "" })).toEqual(object);
      }),
      { numRuns: 12 },
    );
  });

  it("are all that have messages", () => expect(messageKinds()).toEqual(kinds.map(([name]) => name)));

  it("are written whatever their members are", () => {
    const anything = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;
    const members = fc.dictionary(
      fc.constantFrom("metadata", "spec", "status", "data", "rules", "subsets", "webhooks"),
      anything,
    );
    fc.assert(
      fc.property(fc.constantFrom(...kinds.map(([name]) => name)), members, (name, own) => {
        const [apiVersion, kind] = [name.slice(0, name.lastIndexOf("/")), name.slice(name.lastIndexOf("/") + 1)];
        const bytes = encodeProtobufObject({ ...own, apiVersion, kind });
        expect(decodeProtobufObject(bytes, { apiVersion: "", kind: "" })).toMatchObject({ apiVersion, kind });
      }),
    );
  });
});
