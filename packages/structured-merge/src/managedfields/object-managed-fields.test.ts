import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { describe, expect, it } from "vitest";
import { keepTimesOfNoop } from "./object-managed-fields.ts";

const object = (spec: object, ...entries: readonly (readonly [manager: string, time: string])[]): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "K",
    metadata: {
      name: "k",
      managedFields: entries.map(([manager, time]) => ({
        manager,
        operation: "Update",
        apiVersion: "v1",
        time,
        fieldsType: "FieldsV1",
        fieldsV1: { "f:spec": {} },
      })),
    },
    spec,
  }) as unknown as KubeObject;

describe("keepTimesOfNoop", () => {
  const live = object({ a: 1 }, ["one", "2026-01-01T00:00:01Z"], ["two", "2026-01-01T00:00:02Z"]);

  it("takes the times back when nothing but times has changed, whatever order they led to", () => {
    const next = object({ a: 1 }, ["two", "2026-01-01T00:00:02Z"], ["one", "2026-01-01T00:00:09Z"]);
    expect(keepTimesOfNoop(live, next)).toEqual(live);
  });

  it.each([
    ["the object", object({ a: 2 }, ["one", "2026-01-01T00:00:09Z"], ["two", "2026-01-01T00:00:02Z"])],
    ["an owner", object({ a: 1 }, ["one", "2026-01-01T00:00:09Z"])],
    ["nothing at all", live],
  ])("keeps a write unchanged that changes %s", (_, next) => {
    expect(keepTimesOfNoop(live, next)).toBe(next);
  });
});
