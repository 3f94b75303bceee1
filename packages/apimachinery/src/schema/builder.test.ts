import { describe, expect, expectTypeOf, it } from "vitest";
import type { JsonObject } from "../json/json-value.ts";
import { type Infer, s } from "./builder.ts";
import { collectDeprecations, findDeprecatedFields } from "./deprecation.ts";

const scopeSchema = s.object({
  projects: s.listMap(s.object({ project: s.string().required() }), ["project"]).describe("Projects it opens."),
});

const keySchema = s.object({
  spec: s.object({
    user: s.string({ maxLength: 253 }).describe("Who owns it."),
    type: s.string({ enum: ["User", "Login"] }).required(),
    ttl: s.int64({ minimum: 0 }).describe("Seconds."),
    size: s.int64({ minimum: 0, maximum: 10 }),
    replicas: s.int32(),
    groups: s.set(s.string()),
    labels: s.map(s.string()),
    scope: scopeSchema,
    old: s.string().deprecated("use spec.user instead"),
    rules: s.list(s.object({ old: s.boolean().deprecated("leave it out") })),
    port: s.intOrString(),
    data: s.bytes(),
    free: s.anyObject(),
    color: s.string().default("red").nullable(),
  }),
  status: s.object({ lastActivity: s.timestamp() }),
});
type Key = Infer<typeof keySchema>;
type Spec = NonNullable<Key["spec"]>;

describe("the builder", () => {
  it("gives the type of the object", () => {
    expectTypeOf<Spec["type"]>().toEqualTypeOf<"User" | "Login">();
    expectTypeOf<Spec["user"]>().toEqualTypeOf<string | undefined>();
    expectTypeOf<Spec["ttl"]>().toEqualTypeOf<number | bigint | undefined>();
    expectTypeOf<Spec["size"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Spec["groups"]>().toEqualTypeOf<readonly string[] | undefined>();
    expectTypeOf<Spec["labels"]>().toEqualTypeOf<{ readonly [key: string]: string } | undefined>();
    expectTypeOf<Spec["scope"]>().toEqualTypeOf<Infer<typeof scopeSchema> | undefined>();
    expectTypeOf<Spec["color"]>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<NonNullable<Key["status"]>["lastActivity"]>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<Key>().toExtend<JsonObject>();
    // @ts-expect-error a required member is missing
    const incomplete: Spec = { user: "jane" };
    // @ts-expect-error keys of a map list are members of its items
    s.listMap(s.object({ a: s.string() }), ["b"]);
    expect(incomplete).toBeDefined();
  });

  it("gives the structural schema", () => {
    const { schema } = s.object({
      spec: s.object({
        user: s.string({ pattern: "^[a-z]+$" }).required().describe("Who."),
        ports: s.listMap(s.object({ port: s.int32().required() }), ["port"], { maxItems: 3 }),
        any: s.any(),
        atom: s.object({ a: s.number() }, { atomic: true }),
      }),
    });
    expect(schema).toEqual({
      type: "object",
      properties: {
        spec: {
          type: "object",
          required: ["user"],
          properties: {
            user: { type: "string", pattern: "^[a-z]+$", description: "Who." },
            ports: {
              type: "array",
              maxItems: 3,
              items: { type: "object", required: ["port"], properties: { port: { type: "integer", format: "int32" } } },
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["port"],
            },
            any: { "x-kubernetes-preserve-unknown-fields": true },
            atom: {
              type: "object",
              properties: { a: { type: "number", format: "double" } },
              "x-kubernetes-map-type": "atomic",
            },
          },
        },
      },
    });
  });

  it("never changes the field it was called on", () => {
    const plain = s.string();
    plain.describe("x").required().deprecated("y");
    expect(plain.schema).toEqual({ type: "string" });
    expect(plain.isRequired).toBe(false);
  });
});

describe("deprecated fields", () => {
  const deprecations = collectDeprecations(keySchema.schema);

  it("are found where an object uses them", () => {
    const object = { spec: { old: "jane", rules: [{}, { old: false }, { old: null }] } };
    expect(findDeprecatedFields(object, deprecations)).toEqual([
      { path: "spec.old", message: "deprecated; use spec.user instead" },
      { path: "spec.rules[1].old", message: "deprecated; leave it out" },
    ]);
  });

  it.each([[{}], [{ spec: "no object" }], [{ spec: { rules: { old: true } } }], [null]])("are not in %j", (object) => {
    expect(findDeprecatedFields(object as any, deprecations)).toEqual([]);
  });
});
