// Field numbers: k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/generated.proto.
import { describe, expect, it } from "vitest";
import { decodeProtobufObject, isProtobufKind } from "./protobuf-object.ts";
import { ProtobufError } from "./wire-reader.ts";

const varint = (value: bigint): number[] =>
  value < 0x80n ? [Number(value)] : [Number(value & 0x7fn) | 0x80, ...varint(value >> 7n)];
const join = (...parts: Uint8Array[]): Uint8Array => Buffer.concat(parts);
const field = (number: number, ...contents: (string | Uint8Array)[]): Uint8Array => {
  const bytes = join(...contents.map((content) => Buffer.from(content as string)));
  return join(Uint8Array.from([...varint(BigInt((number << 3) | 2)), ...varint(BigInt(bytes.length))]), bytes);
};
const integer = (number: number, value: number): Uint8Array =>
  Uint8Array.from([...varint(BigInt(number << 3)), ...varint(BigInt(value))]);
const double = (number: number, value: number): Uint8Array => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return join(Uint8Array.from(varint(BigInt((number << 3) | 1))), bytes);
};

const endpoint = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
const decode = (...raw: Uint8Array[]): any =>
  decodeProtobufObject(
    join(
      Uint8Array.from([0x6b, 0x38, 0x73, 0]),
      field(1, field(1, endpoint.apiVersion), field(2, endpoint.kind)),
      field(2, ...raw),
    ),
    endpoint,
  );
const spec = (...parts: Uint8Array[]) => field(2, ...parts);
const version = (...parts: Uint8Array[]) => spec(field(7, field(1, "v1"), ...parts));
const schemaIn = (...parts: Uint8Array[]): any =>
  decode(version(field(4, field(1, ...parts)))).spec.versions[0].schema.openAPIV3Schema;
const property = (name: string, ...schema: Uint8Array[]) => field(29, field(1, name), field(2, ...schema));

describe("a CustomResourceDefinition in protobuf", () => {
  it("is a kind that is read", () => expect(isProtobufKind(endpoint.apiVersion, endpoint.kind)).toBe(true));

  it("has names, versions and conversion", () => {
    const { spec: decoded } = decode(
      spec(
        field(1, "example.com"),
        field(
          3,
          field(1, "widgets"),
          field(2, "widget"),
          field(3, "wd"),
          field(4, "Widget"),
          field(5, "WidgetList"),
          field(6, "all"),
        ),
        field(4, "Namespaced"),
        field(
          7,
          field(1, "v1"),
          integer(2, 1),
          integer(3, 1),
          field(5, field(1), field(2, field(1, ".spec.n"), field(2, ".status.n"), field(3, ".status.s"))),
          field(6, field(1, "Size"), field(2, "integer"), integer(5, 1), field(6, ".spec.size")),
          integer(7, 1),
          field(8, "old"),
          field(9, field(1, ".spec.color")),
        ),
        field(
          9,
          field(1, "Webhook"),
          field(
            2,
            field(2, field(1, field(1, "ns"), field(2, "svc"), integer(4, 8443)), field(2, "pem")),
            field(3, "v1"),
          ),
        ),
      ),
    );
    expect(decoded).toEqual({
      group: "example.com",
      names: {
        plural: "widgets",
        singular: "widget",
        shortNames: ["wd"],
        kind: "Widget",
        listKind: "WidgetList",
        categories: ["all"],
      },
      scope: "Namespaced",
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n", labelSelectorPath: ".status.s" },
          },
          additionalPrinterColumns: [{ name: "Size", type: "integer", priority: 1, jsonPath: ".spec.size" }],
          deprecated: true,
          deprecationWarning: "old",
          selectableFields: [{ jsonPath: ".spec.color" }],
        },
      ],
      conversion: {
        strategy: "Webhook",
        webhook: {
          clientConfig: { service: { namespace: "ns", name: "svc", port: 8443 }, caBundle: "cGVt" },
          conversionReviewVersions: ["v1"],
        },
      },
    });
  });

  it("has schemas with all keywords", () => {
    const schema = schemaIn(
      field(5, "object"),
      field(23, "size"),
      property(
        "size",
        field(5, "integer"),
        double(9, 10.5),
        double(11, 0),
        integer(10, 1),
        double(19, 0.5),
        field(8, field(1, "1")),
      ),
      property(
        "name",
        field(5, "string"),
        field(15, "^a"),
        integer(13, 9),
        integer(14, 0),
        field(20, field(1, '"a"')),
        field(20, field(1, "null")),
        integer(37, 1),
      ),
      property(
        "list",
        field(5, "array"),
        field(24, field(1, field(5, "string"))),
        field(42, "map"),
        field(41, "k"),
        integer(16, 3),
      ),
      property("map", field(5, "object"), field(30, integer(1, 1), field(2, field(5, "string")))),
      property("open", field(5, "object"), field(30, integer(1, 1)), integer(38, 1)),
      property("closed", field(5, "object"), field(30, integer(1, 0)), field(43, "atomic")),
      property(
        "any",
        integer(40, 1),
        field(27, field(5, "integer")),
        field(27, field(5, "string")),
        field(28, field(23, "x")),
      ),
      property("embedded", field(5, "object"), integer(39, 1), integer(38, 1)),
      field(
        44,
        field(1, "self.size > 0"),
        field(2, "no"),
        field(3, "'no'"),
        field(4, "FieldValueInvalid"),
        field(5, ".size"),
        integer(6, 1),
      ),
      field(3, "#/definitions/x"),
    );
    expect(schema).toEqual({
      type: "object",
      $ref: "#/definitions/x",
      required: ["size"],
      properties: {
        size: { type: "integer", maximum: 10.5, minimum: 0, exclusiveMaximum: true, multipleOf: 0.5, default: 1 },
        name: { type: "string", pattern: "^a", maxLength: 9, minLength: 0, enum: ["a", null], nullable: true },
        list: {
          type: "array",
          items: { type: "string" },
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["k"],
          maxItems: 3,
        },
        map: { type: "object", additionalProperties: { type: "string" } },
        open: { type: "object", additionalProperties: true, "x-kubernetes-preserve-unknown-fields": true },
        closed: { type: "object", additionalProperties: false, "x-kubernetes-map-type": "atomic" },
        any: {
          "x-kubernetes-int-or-string": true,
          anyOf: [{ type: "integer" }, { type: "string" }],
          not: { required: ["x"] },
        },
        embedded: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
      },
      "x-kubernetes-validations": [
        {
          rule: "self.size > 0",
          message: "no",
          messageExpression: "'no'",
          reason: "FieldValueInvalid",
          fieldPath: ".size",
          optionalOldSelf: true,
        },
      ],
    });
  });

  it.each([
    [
      "schemas that nest without end",
      () => Array.from({ length: 5_000 }).reduce<Uint8Array>((inner) => field(28, inner), field(5, "object")),
    ],
    [
      "properties that nest without end",
      () => Array.from({ length: 2_000 }).reduce<Uint8Array>((inner) => property("a", inner), field(5, "object")),
    ],
    ["a number that is not finite", () => double(9, Number.POSITIVE_INFINITY)],
    ["a default that is no JSON", () => field(8, field(1, "{"))],
    ["a schema of a wrong wire type", () => integer(28, 1)],
    ["a maximum of a wrong wire type", () => field(9, "x")],
  ])("is refused with %s, and the next one is read", (_, schema) => {
    expect(() => schemaIn(schema())).toThrow(ProtobufError);
    expect(schemaIn(field(5, "object"))).toEqual({ type: "object" });
  });
});
