// Vectors: the bodies that kubectl v1.32.4 sends to create objects of the built-in kinds.

import { describe, expect, it } from "vitest";
import { decodeProtobufObject, isProtobufKind } from "./decode-protobuf-object.ts";
import { base64, decodeMessage } from "./message-type.ts";
import vectors from "./testdata/protobuf-builtin-kinds.json" with { type: "json" };

describe("the built-in kinds", () => {
  it.each(vectors.cases)("are read as kubectl means them: $kind", ({ base64: body, json }) => {
    const { apiVersion, kind } = json;
    expect(isProtobufKind(apiVersion, kind)).toBe(true);
    const bytes = new Uint8Array(Buffer.from(body, "base64"));
    expect(decodeProtobufObject(bytes, { apiVersion, kind })).toEqual(json);
  });

  it("do not include others", () => {
    expect(isProtobufKind("v1", "Node")).toBe(false);
    expect(isProtobufKind("v1", "constructor")).toBe(false);
  });
});

describe("base64", () => {
  it("writes every byte, and leaves empty bytes out", () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, index) => (index * 7 + 200) % 256);
    const body = Uint8Array.from([0x0a, bytes.length, ...bytes]);
    expect(decodeMessage({ 1: base64("data") }, body)).toEqual({ data: Buffer.from(bytes).toString("base64") });
    expect(decodeMessage({ 1: base64("data") }, Uint8Array.from([0x0a, 0]))).toEqual({});
  });
});
