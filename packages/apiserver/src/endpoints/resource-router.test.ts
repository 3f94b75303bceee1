// The verbs of a resource end to end, from the parsed request to the stored bytes, without a network.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { defineResource } from "../registry/resource-definition.ts";
import { type ServedResources, serveResources } from "../testing/serve-resources.ts";
import { createTestContext, type TestRequest } from "../testing/test-context.ts";

const boats = defineResource({
  group: "harbour.test",
  version: "v1",
  kind: "Boat",
  plural: "boats",
  namespaced: false,
  hasStatus: true,
  selectableFields: [".spec.owner"],
  schema: kindSchema(
    s.object({
      spec: s.object({
        owner: s.string(),
        length: s.int64({ minimum: 1 }),
        crew: s.set(s.string()),
      }),
      status: s.object({ berth: s.string() }),
    }).schema,
  ),
});

const COLLECTION = "/apis/harbour.test/v1/boats";

let served: ServedResources;

beforeEach(async () => {
  served = await serveResources([boats]);
});

afterEach(async () => {
  await served[Symbol.asyncDispose]();
});

async function send(request: TestRequest): Promise<{ status: number; body: any; warnings: readonly string[] }> {
  const context = createTestContext(request);
  try {
    const response = await served.handler(context);
    if (response.body.type !== "bytes") throw new Error("expected a finished body");
    return {
      status: response.status,
      body: JSON.parse(Buffer.from(response.body.bytes as Uint8Array).toString()),
      warnings: context.warnings.texts,
    };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { status: error.code, body: error.toStatus(), warnings: context.warnings.texts };
  }
}

const create = (name: string, spec: unknown = { owner: "ann" }, query = "") =>
  send({ method: "POST", url: `${COLLECTION}${query}`, body: { metadata: { name }, spec } });

describe("resource router", () => {
  it("creates, reads, replaces, patches, applies and deletes an object", async () => {
    const created = await create("a");
    expect(created).toMatchObject({ status: 201, body: { kind: "Boat", metadata: { name: "a", generation: 1 } } });
    expect(created.body.metadata.managedFields).toHaveLength(1);

    const got = await send({ url: `${COLLECTION}/a` });
    expect(got.body).toEqual(created.body);

    const replaced = await send({
      method: "PUT",
      url: `${COLLECTION}/a`,
      body: { ...got.body, spec: { owner: "bob" } },
    });
    expect(replaced).toMatchObject({ status: 200, body: { metadata: { generation: 2 }, spec: { owner: "bob" } } });

    const patched = await send({
      method: "PATCH",
      url: `${COLLECTION}/a`,
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { labels: { x: "1" } } },
    });
    expect(patched).toMatchObject({ status: 200, body: { metadata: { generation: 2, labels: { x: "1" } } } });

    const applied = await send({
      method: "PATCH",
      url: `${COLLECTION}/a?fieldManager=tool&force=true`,
      headers: { "content-type": "application/apply-patch+yaml" },
      body: { apiVersion: "harbour.test/v1", kind: "Boat", metadata: { name: "a" }, spec: { length: 7 } },
    });
    expect(applied).toMatchObject({ status: 200, body: { spec: { owner: "bob", length: 7 } } });

    const deleted = await send({ method: "DELETE", url: `${COLLECTION}/a` });
    expect(deleted).toMatchObject({
      status: 200,
      body: { status: "Success", details: { uid: created.body.metadata.uid } },
    });
    expect(await send({ url: `${COLLECTION}/a` })).toMatchObject({ status: 404 });
  });

  it("leaves the version alone when nothing changes", async () => {
    const { body } = await create("a");
    const again = await send({ method: "PUT", url: `${COLLECTION}/a`, body });
    expect(again.body.metadata.resourceVersion).toBe(body.metadata.resourceVersion);
  });

  it("refuses a stale version with a conflict and retries patches without one", async () => {
    const { body } = await create("a");
    const patches = Array.from({ length: 30 }, (_, i) =>
      send({
        method: "PATCH",
        url: `${COLLECTION}/a`,
        headers: { "content-type": "application/merge-patch+json" },
        body: { metadata: { labels: { [`l${i}`]: "x" } } },
      }),
    );
    expect((await Promise.all(patches)).map(({ status }) => status)).toEqual(Array(30).fill(200));
    const after = await send({ url: `${COLLECTION}/a` });
    expect(Object.keys(after.body.metadata.labels)).toHaveLength(30);
    const stale = await send({ method: "PUT", url: `${COLLECTION}/a`, body });
    expect(stale).toMatchObject({ status: 409, body: { reason: "Conflict" } });
  });

  it("warns of unknown fields, drops them, and refuses them when asked to be strict", async () => {
    const { body, warnings } = await create("a", { owner: "ann", colour: "red" });
    expect(warnings).toEqual(['unknown field "spec.colour"']);
    expect(body.spec).toEqual({ owner: "ann" });
    const strict = await create("b", { colour: "red" }, "?fieldValidation=Strict");
    expect(strict).toMatchObject({ status: 400, body: { reason: "BadRequest" } });
  });

  it("names every faulty field with 422", async () => {
    const { status, body } = await create("A_", { length: 0, crew: ["x", "x"] });
    expect(status).toBe(422);
    expect(body.details.causes.map(({ field }: { field: string }) => field).sort()).toEqual([
      "metadata.name",
      "spec.crew[1]",
      "spec.length",
    ]);
  });

  it("stores nothing on a dry run", async () => {
    const { status, body } = await create("a", {}, "?dryRun=All");
    expect(status).toBe(201);
    expect(body.metadata.resourceVersion).toBeUndefined();
    expect(await send({ url: `${COLLECTION}/a` })).toMatchObject({ status: 404 });
  });

  it("pages through one snapshot", async () => {
    for (const name of ["a", "b", "c"]) await create(name);
    const first = await send({ url: `${COLLECTION}?limit=2` });
    expect(first.body.items.map((item: any) => item.metadata.name)).toEqual(["a", "b"]);
    expect(first.body.metadata.remainingItemCount).toBe(1);
    await create("d");
    const rest = await send({ url: `${COLLECTION}?limit=2&continue=${first.body.metadata.continue}` });
    expect(rest.body.items.map((item: any) => item.metadata.name)).toEqual(["c"]);
    expect(rest.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  it("selects by label and by declared field", async () => {
    await create("a", { owner: "ann" });
    await create("b", { owner: "bob" });
    const byField = await send({ url: `${COLLECTION}?fieldSelector=spec.owner%3Dbob` });
    expect(byField.body.items.map((item: any) => item.metadata.name)).toEqual(["b"]);
    expect(await send({ url: `${COLLECTION}?fieldSelector=spec.length%3D1` })).toMatchObject({ status: 400 });
  });

  it("keeps an object with finalizers until the last is gone", async () => {
    await send({ method: "POST", url: COLLECTION, body: { metadata: { name: "a", finalizers: ["harbour.test/x"] } } });
    const held = await send({ method: "DELETE", url: `${COLLECTION}/a` });
    expect(held).toMatchObject({ status: 200, body: { kind: "Boat", metadata: { deletionGracePeriodSeconds: 0 } } });
    await send({
      method: "PATCH",
      url: `${COLLECTION}/a`,
      headers: { "content-type": "application/merge-patch+json" },
      body: { metadata: { finalizers: null } },
    });
    expect(await send({ url: `${COLLECTION}/a` })).toMatchObject({ status: 404 });
  });

  it("changes only the status through /status", async () => {
    const { body } = await create("a");
    const written = await send({
      method: "PUT",
      url: `${COLLECTION}/a/status`,
      body: { ...body, spec: { owner: "eve" }, status: { berth: "7" } },
    });
    expect(written).toMatchObject({ status: 200, body: { spec: { owner: "ann" }, status: { berth: "7" } } });
    expect(written.body.metadata.generation).toBe(1);
  });
});
