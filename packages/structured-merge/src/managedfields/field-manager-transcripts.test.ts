// Replays requests that a kube-apiserver v1.32 answered, and expects the managedFields it wrote. See testdata/README.md.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { describe, expect, it } from "vitest";
import { createFieldManager } from "./field-manager.ts";
import { keepTimesOfNoop } from "./object-managed-fields.ts";
import mf01 from "./testdata/mf-01.json" with { type: "json" };
import schemas from "./testdata/schemas.json" with { type: "json" };
import ssa01 from "./testdata/ssa-01.json" with { type: "json" };
import ssa03 from "./testdata/ssa-03.json" with { type: "json" };
import status01 from "./testdata/status-01.json" with { type: "json" };

/** The requests were all recorded within one second. */
const now = "2026-01-01T00:00:00Z";

const groupVersion = { group: "management.example.com", version: "v1" };
const managerOf = (kind: string) =>
  createFieldManager({ schema: (schemas as any)[kind], groupVersion, hasStatus: true });

/** Steps of a server's registry around the field manager, as far as these transcripts need them. */
function prepare(live: KubeObject | undefined, next: any, subresource: string): KubeObject {
  const kept: any = subresource === "status" ? { ...live, status: next.status } : { ...next, status: live?.status };
  const { status, ...rest } = kept;
  const spec = rest.kind === "Widget" ? withDefaults(rest.spec) : rest.spec;
  return {
    ...rest,
    ...(spec === undefined ? {} : { spec }),
    ...(status === undefined ? {} : { status }),
    metadata: { ...(live ?? next).metadata, ...next.metadata, managedFields: next.metadata.managedFields, uid: "u" },
  };
}

const withDefaults = (spec: any) => ({
  color: "red",
  ...spec,
  ...(spec.ports === undefined ? {} : { ports: spec.ports.map((port: any) => ({ protocol: "TCP", ...port })) }),
});

const comparable = (object: any) => ({
  spec: object.spec,
  status: object.status,
  managedFields: object.metadata.managedFields?.map(({ time, ...entry }: any) => ({
    ...entry,
    ...(time === undefined ? {} : { time: "<time>" }),
  })),
});

describe.each([ssa01, ssa03, mf01, status01])("kube-apiserver transcript $id: $title", ({ steps }) => {
  it("leads to the same objects and managedFields", () => {
    const stored = new Map<string, KubeObject>();
    for (const [index, step] of (steps as any[]).entries()) {
      const url = new URL(step.path, "https://localhost");
      const subresource = url.pathname.endsWith("/status") ? "status" : "";
      const manager = url.searchParams.get("fieldManager") ?? "";
      const force = url.searchParams.get("force") === "true";
      const name = step.body.metadata?.name ?? url.pathname.split("/").at(-1);
      const live = stored.get(name);
      const fields = managerOf(step.body.kind ?? live?.kind);

      const write = (): KubeObject => {
        if (step.contentType === "application/apply-patch+yaml") {
          const applied = fields.apply({ live, applied: step.body, manager, subresource, force, now });
          return prepare(live, applied, subresource);
        }
        const next =
          live === undefined
            ? prepare(undefined, step.body, subresource)
            : {
                ...live,
                metadata: {
                  ...live.metadata,
                  annotations: { ...live.metadata.annotations, ...step.body.metadata.annotations },
                },
              };
        return fields.update({ live, next, manager, subresource, now });
      };

      if (step.status >= 400 && step.status !== 422) {
        expect(write).toThrow(ApiError);
        try {
          write();
        } catch (error) {
          expect((error as ApiError).toStatus()).toEqual(step.response);
        }
        continue;
      }
      const written = write();
      if (step.status === 422) {
        // Validation is not ours: it refuses what the merge left of the object.
        expect(written["spec"]).toBe(null);
        continue;
      }
      const next = live === undefined ? written : keepTimesOfNoop(live, written);
      expect(comparable(next), `step ${index}: ${step.note ?? ""}`).toEqual(comparable(step.response));
      if (live !== undefined && step.note?.startsWith("no-op")) expect(equalJson(next as any, live as any)).toBe(true);
      stored.set(name, next);
    }
  });
});
