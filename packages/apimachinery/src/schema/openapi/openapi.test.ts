import { describe, expect, it } from "vitest";
import { runSteps } from "../../steps/steps.ts";
import { s } from "../builder.ts";
import { kindSchema, listSchema } from "../kind-schema.ts";
import { META_COMPONENTS, objectMetaSchema } from "../object-meta-schema.ts";
import { pruneUnknownFields } from "../prune.ts";
import type { StructuralSchema } from "../structural-schema.ts";
import { toOpenApiV2 } from "./openapi-v2.ts";
import { toOpenApiV3 } from "./openapi-v3.ts";

const writeV2 = (...args: Parameters<typeof toOpenApiV2>) => runSteps(toOpenApiV2(...args));
const writeV3 = (...args: Parameters<typeof toOpenApiV3>) => runSteps(toOpenApiV3(...args));

const widget = kindSchema(
  s
    .object({
      spec: s.object({
        size: s.int32().required().describe("How many."),
        old: s.string().describe("The paint.").deprecated("use spec.color instead"),
        tags: s.set(s.string()),
      }),
    })
    .describe("A widget.").schema,
);
const groupVersionKinds = [{ group: "example.com", version: "v1", kind: "Widget" }];

describe("OpenAPI v3", () => {
  const written = writeV3(widget, { components: META_COMPONENTS, groupVersionKinds }) as any;

  it("refers to shared schemas by name", () => {
    expect(written.properties.metadata).toEqual({
      description: expect.any(String),
      allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }],
    });
  });

  it("leaves out properties of which there are none", () => {
    const { spec } = (writeV3(kindSchema(s.object({ spec: s.object({}) }).schema), {}) as any).properties;
    expect(spec).toEqual({ type: "object" });
  });

  it("names the kind on the root and keeps the list markers", () => {
    expect(written["x-kubernetes-group-version-kind"]).toEqual(groupVersionKinds);
    expect(written.properties.spec.properties.tags).toEqual({
      type: "array",
      items: { type: "string" },
      "x-kubernetes-list-type": "set",
    });
  });

  it("announces a deprecation in the description, and nowhere else", () => {
    expect(written.properties.spec.properties.old).toEqual({
      type: "string",
      description: "The paint. Deprecated: use spec.color instead.",
    });
  });

  it("writes a component itself in full", () => {
    const meta = writeV3(objectMetaSchema, { components: META_COMPONENTS }) as any;
    expect(meta.properties.ownerReferences.items.allOf).toEqual([
      { $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference" },
    ]);
    expect(meta.properties.finalizers["x-kubernetes-list-type"]).toBe("set");
    expect(meta.properties.managedFields["x-kubernetes-list-type"]).toBe("atomic");
  });

  it("describes lists of a kind", () => {
    const components = new Map([...META_COMPONENTS, [widget, "com.example.v1.Widget"] as const]);
    const list = writeV3(listSchema("Widget", widget), { components }) as any;
    expect(list.properties.items.items.allOf).toEqual([{ $ref: "#/components/schemas/com.example.v1.Widget" }]);
    expect(list.required).toEqual(["items"]);
  });

  it("every field of metadata is described", () => {
    const undescribed = (schema: StructuralSchema): string[] =>
      Object.entries(schema.properties ?? {}).flatMap(([name, property]) => [
        ...(property.description === undefined ? [name] : []),
        ...undescribed(property.items ?? property),
      ]);
    expect(undescribed(objectMetaSchema)).toEqual([]);
  });
});

describe("OpenAPI v2", () => {
  it("leaves out what it cannot hold", () => {
    const schema: StructuralSchema = {
      type: "object",
      required: ["nul", "kept"],
      anyOf: [{ required: ["kept"] }],
      properties: {
        nul: { type: "string", nullable: true, description: "May be null." },
        kept: { type: "integer", oneOf: [{ minimum: 1 }], not: { enum: [2] } },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { a: { type: "string" } } },
        map: { type: "object", additionalProperties: { type: "string", nullable: true } },
      },
    };
    expect(writeV2(schema)).toEqual({
      type: "object",
      required: ["kept"],
      properties: {
        nul: { description: "May be null." },
        kept: { type: "integer" },
        free: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        map: { type: "object", additionalProperties: {} },
      },
    });
  });

  it("refers to shared schemas by name", () => {
    const written = writeV2(widget, { components: META_COMPONENTS, groupVersionKinds }) as any;
    expect(written.properties.metadata.$ref).toBe("#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    expect(written["x-kubernetes-group-version-kind"]).toEqual(groupVersionKinds);
  });
});

describe("the schema of a kind", () => {
  it("knows metadata, so that unknown fields are found there too", () => {
    const object = { apiVersion: "v1", kind: "Widget", metadata: { name: "a", bogus: 1 }, spec: { size: 1, x: 1 } };
    expect(pruneUnknownFields(object, widget).unknownPaths).toEqual(["metadata.bogus", "spec.x"]);
  });
});

describe("an object that keeps whatever it has", () => {
  const open: StructuralSchema = {
    type: "object",
    description: "Anything.",
    properties: { a: { type: "string" } },
    "x-kubernetes-preserve-unknown-fields": true,
  };

  it("is no more than an object in v2", () => {
    const groupVersionKinds = [{ group: "example.com", version: "v1", kind: "Open" }];
    expect(writeV2(open, { groupVersionKinds })).toEqual({
      type: "object",
      "x-kubernetes-group-version-kind": groupVersionKinds,
    });
  });

  it("says everything in v3", () => {
    expect(writeV3(open)).toMatchObject({ description: "Anything.", "x-kubernetes-preserve-unknown-fields": true });
  });
});
