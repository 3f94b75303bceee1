import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../json/json-value.ts";
import { findMetadataError } from "./find-metadata-error.ts";

describe("metadata of a wrong type", () => {
  it.each<[JsonValue, string]>([
    [{ labels: { a: 1 } }, "number into Go struct field ObjectMeta.labels of type string"],
    [{ labels: "x" }, "string into Go struct field ObjectMeta.labels of type map[string]string"],
    [{ name: true }, "bool into Go struct field ObjectMeta.name of type string"],
    [{ name: {} }, "object into Go struct field ObjectMeta.name of type string"],
    [{ generation: 1.5 }, "number 1.5 into Go struct field ObjectMeta.generation of type int64"],
    [{ generation: "1" }, "string into Go struct field ObjectMeta.generation of type int64"],
    [{ uid: 1 }, "number into Go struct field ObjectMeta.uid of type types.UID"],
    [{ finalizers: [1] }, "number into Go struct field ObjectMeta.finalizers of type string"],
    [{ finalizers: {} }, "object into Go struct field ObjectMeta.finalizers of type []string"],
    [
      { ownerReferences: [{ uid: 1 }] },
      "number into Go struct field OwnerReference.ownerReferences.uid of type types.UID",
    ],
    [{ ownerReferences: ["x"] }, "string into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference"],
    [{ creationTimestamp: 1 }, "number into Go value of type string"],
    [[], "array into Go value of type v1.ObjectMeta"],
  ])("%j is refused in Go's words", (metadata, fault) => {
    expect(findMetadataError(metadata)).toBe(`json: cannot unmarshal ${fault}`);
  });

  it("begins the path at the object for a kind that has a Go type", () => {
    const fault = (metadata: JsonValue) => findMetadataError(metadata, "ConfigMap");
    expect(fault({ labels: { a: 1 } })).toBe(
      "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
    );
    expect(fault("x")).toBe(
      "json: cannot unmarshal string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
    );
  });

  it("names the time that cannot be read", () => {
    expect(findMetadataError({ deletionTimestamp: "soon" })).toBe(
      'parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"',
    );
  });

  it.each<[JsonValue]>([
    [{}],
    [null],
    [{ name: null, labels: null, creationTimestamp: null, generation: 3, unknown: 1 }],
    [{ labels: { a: "b" }, managedFields: [{ fieldsV1: { "f:a": {} }, time: "2024-01-01T00:00:00Z" }] }],
  ])("%j can be read", (metadata) => {
    expect(findMetadataError(metadata)).toBeUndefined();
  });
});
