import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../json/json-value.ts";
import { isApiError } from "../../meta/api-error.ts";
import { coerceMetadata } from "./coerce-metadata.ts";

const coerce = (metadata: JsonValue | undefined) => coerceMetadata(metadata, "OwnedAccessKey", "v1");

describe("received metadata", () => {
  it.each<[string, JsonValue | undefined, object]>([
    ["nothing", undefined, {}],
    ["null", null, {}],
    ["null and empty members", { name: "a", labels: null, annotations: {}, finalizers: [], uid: "" }, { name: "a" }],
    ["a null label", { labels: { a: null, b: "c" } }, { labels: { a: "", b: "c" } }],
    ["no creation time", { creationTimestamp: null }, {}],
    [
      "a time elsewhere",
      { creationTimestamp: "2024-01-01T02:00:00.5+02:00" },
      { creationTimestamp: "2024-01-01T00:00:00Z" },
    ],
    ["a self link", { selfLink: "/x" }, {}],
    ["a grace period of none", { deletionGracePeriodSeconds: 0, generation: 0 }, { deletionGracePeriodSeconds: 0 }],
    ["the request to clear managed fields", { managedFields: [{}] }, { managedFields: [{}] }],
  ])("with %s becomes what is kept", (_, metadata, kept) => {
    expect(coerce(metadata)).toEqual({ metadata: kept, unknownPaths: [] });
  });

  it("loses unknown fields, which are named", () => {
    const metadata = { name: "a", bogus: 1, ownerReferences: [{ uid: "u", x: 1 }] };
    expect(coerce(metadata)).toEqual({
      metadata: { name: "a", ownerReferences: [{ apiVersion: "", kind: "", name: "", uid: "u" }] },
      unknownPaths: ["metadata.bogus", "metadata.ownerReferences[0].x"],
    });
  });

  it("is unchanged if it is valid", () => {
    const metadata = {
      name: "a",
      labels: { a: "b" },
      managedFields: [{ manager: "m", time: "2024-01-01T00:00:00Z", fieldsV1: { "f:spec": {} } }],
    };
    expect(coerce(metadata).metadata).toBe(metadata);
  });

  it("of a wrong type is a bad request", () => {
    const attempt = () => coerce({ labels: { a: 1 } });
    expect(attempt).toThrow(
      'OwnedAccessKey in version "v1" cannot be handled as a OwnedAccessKey: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
    );
    try {
      attempt();
    } catch (error) {
      expect(isApiError(error, "BadRequest")).toBe(true);
    }
  });

  it("is read or refused with 400, whatever it is (seed 19)", () => {
    const name = fc.constantFrom(
      "name",
      "labels",
      "finalizers",
      "ownerReferences",
      "managedFields",
      "time",
      "uid",
      "x",
    );
    const time = fc.constantFrom("2024-01-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T00:00:00,5Z", "");
    const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
      json: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
        fc.dictionary(name, tie("json")),
        fc.record({ creationTimestamp: time, time, managedFields: fc.array(fc.record({ time })) }),
        fc.array(tie("json"), { maxLength: 3 }),
      ) as fc.Arbitrary<JsonValue>,
    }));
    fc.assert(
      fc.property(json, (metadata) => {
        try {
          const once = coerce(metadata).metadata;
          expect(coerce(once as JsonValue)).toEqual({ metadata: once, unknownPaths: [] });
        } catch (error) {
          if (!isApiError(error, "BadRequest")) throw error;
        }
      }),
      { seed: 19, numRuns: 2000 },
    );
  });
});
