import { describe, expect, it } from "vitest";
import type { StructuralSchema } from "../structural-schema.ts";
import { coerceEmbeddedResources } from "./embedded-resources.ts";
import { validateEmbeddedResources } from "./validate-embedded-resources.ts";

const EMBEDDED: StructuralSchema = {
  type: "object",
  "x-kubernetes-embedded-resource": true,
  "x-kubernetes-preserve-unknown-fields": true,
};

const schema: StructuralSchema = {
  type: "object",
  properties: {
    template: EMBEDDED,
    list: { type: "array", items: EMBEDDED },
    map: { type: "object", additionalProperties: EMBEDDED },
    nested: { ...EMBEDDED, properties: { inner: EMBEDDED } },
  },
};

const resource = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" } };

describe("validateEmbeddedResources", () => {
  const faultsOf = (value: any) =>
    validateEmbeddedResources(value, schema, "").map(({ field, message }) => `${field}: ${message}`);

  it("lets whole resources through, also without metadata or a name", () => {
    const { metadata: _, ...bare } = resource;
    expect(faultsOf({ template: resource, list: [bare], map: { a: { ...resource, metadata: {} } } })).toEqual([]);
  });

  it.each([
    [{ template: {} }, ["template.apiVersion: Required value", "template.kind: Required value"]],
    [{ list: [resource, { ...resource, kind: "" }] }, ["list[1].kind: Required value"]],
    [
      { map: { "a/b": { ...resource, apiVersion: "a/b/c" } } },
      ['map[a/b].apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ],
    [{ nested: { ...resource, inner: { ...resource, apiVersion: "" } } }, ["nested.inner.apiVersion: Required value"]],
    [{ template: { ...resource, kind: 5 } }, ["template.kind: Invalid value: 5: must be a string"]],
    [
      { template: { ...resource, metadata: { name: "a/b" } } },
      ["template.metadata.name: Invalid value: \"a/b\": may not contain '/'"],
    ],
    [
      { template: { ...resource, metadata: { namespace: "No" } } },
      [expect.stringContaining('template.metadata.namespace: Invalid value: "No": a lowercase RFC 1123 label must')],
    ],
    [
      { template: { ...resource, kind: "Pod_" } },
      [
        expect.stringContaining(
          'template.kind: Invalid value: "Pod_": may have mixed case, but should otherwise match: a DNS-1035 label must',
        ),
      ],
    ],
  ])("names what is wrong with %j", (value, faults) => {
    expect(faultsOf(value)).toEqual(faults);
  });

  it("asks nothing of the object itself", () => {
    expect(validateEmbeddedResources({}, { ...schema, properties: {} }, "")).toEqual([]);
  });
});

describe("coerceEmbeddedResources", () => {
  it("gives the value itself where nothing is to be changed", () => {
    const value = { template: resource, list: [resource], map: { a: resource } };
    expect(coerceEmbeddedResources(value, schema)).toEqual({ value, unknownPaths: [] });
    expect(coerceEmbeddedResources(value, schema).value).toBe(value);
  });

  it("drops the fields that metadata does not have, and what is empty", () => {
    const metadata = { name: "p", bogus: 1, labels: null, annotations: {}, creationTimestamp: null };
    const value = { list: [{ ...resource, metadata }] };
    expect(coerceEmbeddedResources(value, schema)).toEqual({
      value: { list: [resource] },
      unknownPaths: ["list[0].metadata.bogus"],
    });
  });

  it.each([
    [{ map: { a: { ...resource, kind: 1 } } }, "map[a].kind: Invalid value: 1: must be a string"],
    [
      { template: { ...resource, metadata: { labels: { a: 1 } } } },
      'template.metadata: Invalid value: map[string]interface {}{"labels":map[string]interface {}{"a":1}}: ' +
        "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
    ],
  ])("explains why %j cannot be read", (value, fault) => {
    expect(coerceEmbeddedResources(value, schema).fault).toBe(fault);
  });
});
