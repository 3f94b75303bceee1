// How any resource is applied, and who is recorded as the owner of what.

import { expect } from "vitest";
import type { ResourceSuiteContext } from "./resource-suite.ts";

const APPLY = { contentType: "application/apply-patch+yaml" };
const MERGE = { contentType: "application/merge-patch+json" };

export function describeOwnership(suite: ResourceSuiteContext): void {
  const { test, object } = suite;
  const apply = (query: string, label: string) =>
    suite.client.send("PATCH", `/applied?${query}`, object("applied", { labels: { suite: label } }), APPLY);

  test("is created by an apply, and left alone by the same apply again", ["create", "patch"], async () => {
    const created = await apply("fieldManager=one", "a");
    expect({ status: created.status, message: created.json.message }).toEqual({ status: 201, message: undefined });
    const again = await apply("fieldManager=one", "a");
    expect(again.status).toBe(200);
    expect(again.json.metadata.resourceVersion).toBe(created.json.metadata.resourceVersion);
  });

  test(
    "reports conflicts to appliers with the field's manager, and transfers the field with force",
    ["create", "patch"],
    async () => {
      await apply("fieldManager=one", "a");
      expect(await apply("fieldManager=two", "b")).toMatchObject({
        status: 409,
        json: {
          reason: "Conflict",
          // A list that is owned whole conflicts, too, where its items have got defaults.
          details: {
            causes: expect.arrayContaining([
              expect.objectContaining({ reason: "FieldManagerConflict", field: ".metadata.labels.suite" }),
            ]),
          },
        },
      });
      expect(await apply("fieldManager=two&force=true", "b")).toMatchObject({
        status: 200,
        json: { metadata: { labels: { suite: "b" } } },
      });
    },
  );

  test(
    "records the writer of a field under the name it gives, else that of its client",
    ["create", "patch"],
    async () => {
      // Without field owners, nothing is recorded until the first apply.
      await suite.client.send("POST", "", object("owned", { labels: { suite: "w" } }));
      const labels = { metadata: { labels: { suite: "x" } } };
      const { json } = await suite.client.send("PATCH", "/owned?fieldManager=labeller", labels, MERGE);
      const managers = json.metadata.managedFields.map(({ manager }: { manager: string }) => manager);
      expect(managers).toContain("labeller");
      const entry = json.metadata.managedFields.find(({ manager }: { manager: string }) => manager === "labeller");
      expect(entry).toMatchObject({
        operation: "Update",
        fieldsType: "FieldsV1",
        fieldsV1: { "f:metadata": { "f:labels": { "f:suite": {} } } },
      });
    },
  );
}
