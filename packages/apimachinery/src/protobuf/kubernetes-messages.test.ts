// Vectors: the bodies that kubectl v1.32.4 sends to create objects of the built-in kinds.

import { describe, expect, it } from "vitest";
import type { JsonObject } from "../json/json-value.ts";
import { messageOfKind } from "./kubernetes-messages.ts";
import { asGoWrites, decodeProtobufObject, encodeProtobufObject, isProtobufKind } from "./protobuf-object.ts";
import vectors from "./testdata/protobuf-builtin-kinds.json" with { type: "json" };
import devices from "./testdata/protobuf-devices.json" with { type: "json" };

describe("the built-in kinds", () => {
  it.each(vectors.cases)("are read as kubectl means them: $kind", ({ base64: body, json }) => {
    const { apiVersion, kind } = json;
    expect(isProtobufKind(apiVersion, kind)).toBe(true);
    const bytes = new Uint8Array(Buffer.from(body, "base64"));
    const object = decodeProtobufObject(bytes, { apiVersion, kind });
    expect(object).toEqual(json);
    expect(encodeProtobufObject(object).toString("base64")).toBe(body);
  });

  it.each(devices.cases)(
    "are read and written as kube-apiserver does: $kind $json.metadata.name",
    ({ base64, json }) => {
      const { apiVersion, kind } = json;
      const object = decodeProtobufObject(new Uint8Array(Buffer.from(base64, "base64")), { apiVersion, kind });
      expect(asGoWrites(object)).toEqual(json);
      // Members whose types differ from case to case hide that these are objects of JSON.
      expect(encodeProtobufObject(json as unknown as JsonObject).toString("base64")).toBe(base64);
    },
  );

  it("do not include others", () => {
    expect(isProtobufKind("v1", "Widget")).toBe(false);
    expect(isProtobufKind("v1", "constructor")).toBe(false);
  });
});

/** A field with a text or a message in it, as the wire has it. */
const field = (number: number, content: string | Uint8Array): Uint8Array => {
  const bytes = Buffer.from(content);
  const tag = (number << 3) | 2;
  return Uint8Array.from([...(tag < 128 ? [tag] : [(tag & 127) | 128, tag >> 7]), bytes.length, ...bytes]);
};
const within = (numbers: readonly number[], content: string | Uint8Array): Uint8Array =>
  numbers.reduceRight<string | Uint8Array>((inner, number) => field(number, inner), content) as Uint8Array;

describe("fields whose tags in Go do not say whether they are optional", () => {
  it.each([
    [
      "networking.k8s.io/v1/NetworkPolicy",
      // spec.ingress[].from[].ipBlock.cidr
      within([2, 2, 2, 3, 1], "10.0.0.0/8"),
      { spec: { ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }] } },
    ],
    [
      "discovery.k8s.io/v1/EndpointSlice",
      // endpoints[].conditions.ready, and ports[].name
      Uint8Array.from([...within([2, 2], Uint8Array.from([0x08, 1])), ...within([3, 1], "https")]),
      { endpoints: [{ conditions: { ready: true } }], ports: [{ name: "https" }] },
    ],
    [
      "autoscaling/v2/HorizontalPodAutoscaler",
      // spec.metrics[].type
      within([2, 4, 1], "Resource"),
      { spec: { metrics: [{ type: "Resource" }] } },
    ],
    [
      "autoscaling/v2/HorizontalPodAutoscaler",
      // spec.metrics[].resource.target.type
      within([2, 4, 4, 2, 1], "Value"),
      { spec: { metrics: [{ resource: { target: { type: "Value" } } }] } },
    ],
    [
      "v1/Pod",
      // spec.resourceClaims[].name
      within([2, 39, 1], "gpu"),
      { spec: { resourceClaims: [{ name: "gpu" }] } },
    ],
    [
      "v1/Pod",
      // spec.ephemeralContainers[].name
      within([2, 34, 1, 1], "debugger"),
      { spec: { ephemeralContainers: [{ name: "debugger" }] } },
    ],
    [
      "v1/Pod",
      // spec.volumes[].ephemeral.volumeClaimTemplate.spec.storageClassName
      within([2, 1, 2, 29, 1, 2, 5], "fast"),
      { spec: { volumes: [{ ephemeral: { volumeClaimTemplate: { spec: { storageClassName: "fast" } } } }] } },
    ],
    [
      "apiextensions.k8s.io/v1/CustomResourceDefinition",
      // spec.versions[].schema.openAPIV3Schema.dependencies[a], a list of names
      within([2, 7, 4, 1, 32], Uint8Array.from([...field(1, "a"), ...field(2, field(2, "b"))])),
      { spec: { versions: [{ schema: { openAPIV3Schema: { dependencies: { a: ["b"] } } } }] } },
    ],
  ])("are read of %s", (kind, bytes, expected) => {
    const type = messageOfKind(kind.slice(0, kind.lastIndexOf("/")), kind.slice(kind.lastIndexOf("/") + 1));
    expect(type?.decode(bytes)).toMatchObject(expected);
  });
});

describe("bytes", () => {
  it("are written whole in base64, and left out when empty", () => {
    const bytes = Uint8Array.from({ length: 100 }, (_, index) => (index * 7 + 200) % 256);
    const request = messageOfKind("certificates.k8s.io/v1", "CertificateSigningRequest");
    expect(request?.decode(Uint8Array.from([0x12, 102, 0x0a, 100, ...bytes]))).toEqual({
      spec: { request: Buffer.from(bytes).toString("base64"), signerName: "" },
    });
    expect(request?.decode(Uint8Array.from([0x12, 2, 0x0a, 0]))).toEqual({ spec: { signerName: "" } });
  });
});
