// The texts were read from kube-apiserver 1.36.2, for strategic merge patches of a ConfigMap.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { StructuralSchema } from "@postern/apimachinery/schema/structural-schema";
import { expect, it } from "vitest";
import { findConversionFault, goText } from "./conversion-fault.ts";

const schema: StructuralSchema = kindSchema({
  type: "object",
  properties: {
    data: { type: "object", additionalProperties: { type: "string" } },
    binaryData: { type: "object", additionalProperties: { type: "string", format: "byte" } },
    immutable: { type: "boolean" },
    port: { "x-kubernetes-int-or-string": true },
    seconds: { type: "integer", format: "int32" },
  },
});

it.each<[JsonValue, string | undefined]>([
  [{ metadata: { labels: "invalid" } }, "cannot restore map from string"],
  [{ metadata: { labels: { a: 1 } } }, "cannot convert int64 to string"],
  [{ data: "x" }, "cannot restore map from string"],
  [{ data: ["x"] }, "cannot restore map from slice"],
  [{ data: { a: 1.5 } }, "unrecognized type: string"],
  [{ data: { a: true } }, "unrecognized type: string"],
  [{ metadata: "x" }, "cannot restore struct from: string"],
  [{ metadata: { finalizers: "x" } }, "cannot restore slice from string"],
  [{ metadata: { finalizers: [1, "b", {}] } }, "cannot convert int64 to string"],
  [{ immutable: "yes" }, "unrecognized type: bool"],
  [{ binaryData: { a: 5 } }, "cannot restore slice from int64"],
  [{ binaryData: { a: "!!" } }, "error decoding from json: illegal base64 data at input byte 0"],
  [{ metadata: { generation: 1.5 } }, "cannot convert float64 to int64"],
  [{ metadata: { generation: "a" } }, "unrecognized type: int64"],
  [{ seconds: {} }, "unrecognized type: int32"],
  [{ kind: 5 }, "cannot convert int64 to string"],
  // Decodes itself.
  [{ metadata: { creationTimestamp: 5 } }, undefined],
  [{ data: { a: "b" }, immutable: null, port: "x", seconds: 5, unknown: [1], binaryData: { a: "eA==" } }, undefined],
])("finds in %j the fault %j", (value, fault) => {
  expect(findConversionFault(value, schema)).toBe(fault);
});

it("prints a patch as Go does", () => {
  expect(goText({ unknown: 1, data: { a: "c" }, metadata: { nope: [1e6, 1.5, null, true, "x y", {}] } })).toBe(
    "map[data:map[a:c] metadata:map[nope:[1000000 1.5 <nil> true x y map[]]] unknown:1]",
  );
});
