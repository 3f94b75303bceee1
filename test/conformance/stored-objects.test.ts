// Custom resources whose definition has changed since they were written: they are read by the schema that there is now.
// Source: k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go (unstructuredDefaulter, schemaCoercingDecoder)

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, expect, test } from "vitest";
import { APPLY_PATCH, apiOf, JSON_PATCH, MERGE_PATCH, parseEvents } from "./testing/api.ts";
import { type RunningServer, startServer } from "./testing/start-server.ts";

const GROUP = "crates.example.com";

type Version = { readonly name: string; readonly properties: JsonObject; readonly rules?: JsonObject[] };

const crd = (storedVersion: string, versions: readonly Version[]): JsonObject =>
  definitionManifest(
    { group: GROUP, kind: "Crate", plural: "crates" },
    ...versions.map(({ name, properties, rules = [] }) => ({
      ...definitionVersion(name, {
        type: "object",
        properties: { spec: { type: "object", properties, "x-kubernetes-validations": rules } },
      }),
      storage: name === storedVersion,
      selectableFields: [{ jsonPath: ".spec.color" }],
    })),
  );

const TEXT = { type: "string" };
const BEFORE = crd("v1beta1", [
  { name: "v1beta1", properties: { size: { type: "integer" }, color: TEXT, label: TEXT, note: TEXT } },
]);
/** Both versions have other defaults; `label` is gone, and `note` may not be null any more. */
const AFTER = crd("v1", [
  {
    name: "v1beta1",
    properties: { size: { type: "integer", default: 1 }, color: { ...TEXT, default: "red" }, note: TEXT },
  },
  {
    name: "v1",
    properties: {
      size: { type: "integer", default: 9 },
      color: { ...TEXT, default: "blue" },
      note: TEXT,
      parts: { type: "array", items: { type: "object", properties: { unit: { ...TEXT, default: "mm" } } } },
    },
    rules: [{ rule: "self.color == oldSelf.color", message: "the color stays" }],
  },
]);

const NAMES = ["got", "listed", "merged", "json-patched", "replaced", "untouched", "applied", "guarded", "deleted"];

let server: RunningServer;
let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
const api = apiOf(() => server);
const crate = (version: string, name: string, spec: JsonObject): JsonObject => ({
  apiVersion: `${GROUP}/${version}`,
  kind: "Crate",
  metadata: { name },
  spec,
});
const crates = (version: string, name = ""): string =>
  `/apis/${GROUP}/${version}/crates${name === "" ? "" : `/${name}`}`;
const get = async (version: string, name: string) => (await api.get(crates(version, name))).json;

beforeAll(async () => {
  folder = await temporaryDirectory("postern-stored-");
  const file = join(folder.path, "crates.yaml");
  const start = async (definition: JsonObject): Promise<RunningServer> => {
    await writeFile(file, JSON.stringify(definition));
    return await startServer({ crdFiles: [file], dataDir: join(folder.path, "data") });
  };
  server = await start(BEFORE);
  for (const name of NAMES) {
    const made = await api.post(crates("v1beta1"), crate("v1beta1", name, { size: 3, label: "old" }));
    expect(made.status).toBe(201);
  }
  await server[Symbol.asyncDispose]();
  server = await start(AFTER);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test("a get shows the defaults of the version that the object was written in, and nothing that no schema knows any more", async () => {
  expect(await get("v1beta1", "got")).toMatchObject({
    apiVersion: `${GROUP}/v1beta1`,
    spec: { size: 3, color: "red" },
  });
  expect((await get("v1beta1", "got")).spec).toEqual({ size: 3, color: "red" });
  expect(await get("v1", "got")).toMatchObject({ apiVersion: `${GROUP}/v1`, kind: "Crate" });
  expect((await get("v1", "got")).spec).toEqual({ size: 3, color: "red" });
});

test("lists, pages, watches and field selectors see what a get shows", async () => {
  for (const version of ["v1", "v1beta1"]) {
    const all = (await api.get(crates(version))).json;
    expect(all.items.map((item: any) => item.apiVersion)).toEqual(all.items.map(() => `${GROUP}/${version}`));
    const listed = all.items.find((item: any) => item.metadata.name === "listed");
    expect(listed.spec).toEqual({ size: 3, color: "red" });
    const page = (await api.get(`${crates(version)}?limit=1`)).json;
    const rest = (await api.get(`${crates(version)}?limit=500&continue=${page.metadata.continue}`)).json;
    expect([...page.items, ...rest.items]).toEqual(all.items);
    const red = await api.get(`${crates(version)}?fieldSelector=spec.color%3Dred,metadata.name%3Dlisted`);
    expect(red.json.items).toEqual([listed]);
    const watch = await api.watch(
      `${crates(version)}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dlisted`,
    );
    const [event] = parseEvents((await watch.finished).text.trimEnd().split("\n"));
    expect(event).toMatchObject({ type: "ADDED", object: listed });
  }
});

test("a patch is applied to what is shown, and stores it in the version of now", async () => {
  const merged = await api.patch(crates("v1", "merged"), MERGE_PATCH, { spec: { parts: [{}] } });
  expect(merged.json.spec).toEqual({ size: 3, color: "red", parts: [{ unit: "mm" }] });
  expect(merged.json.metadata.generation).toBe(2);
  const test = [
    { op: "test", path: "/spec/color", value: "red" },
    { op: "test", path: "/spec/label" },
    { op: "replace", path: "/spec/size", value: 4 },
  ];
  const patched = await api.patch(crates("v1beta1", "json-patched"), JSON_PATCH, test);
  expect(patched.json.spec).toEqual({ size: 4, color: "red" });
  // It has been written in v1 now, without what v1beta1 does not have.
  expect((await get("v1", "json-patched")).spec).toEqual({ size: 4, color: "red" });
});

test("rules compare with what is shown, not with what was written", async () => {
  const refused = await api.patch(crates("v1", "guarded"), MERGE_PATCH, { spec: { color: "green" } });
  expect(refused.status).toBe(422);
  expect(refused.json.details.causes[0].message).toContain("the color stays");
  expect((await api.patch(crates("v1", "guarded"), MERGE_PATCH, { spec: { color: "red" } })).status).toBe(200);
});

test("an update that changes nothing brings the record up to its schema, once, and counts no generation", async () => {
  const before = await get("v1", "replaced");
  const first = (await api.put(crates("v1", "replaced"), before)).json;
  expect(first.spec).toEqual(before.spec);
  expect(first.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
  expect(first.metadata.generation).toBe(before.metadata.generation);
  expect(first.metadata.managedFields).toEqual(before.metadata.managedFields);
  const second = (await api.put(crates("v1", "replaced"), first)).json;
  expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
});

test("a default that is added on reading has no manager until it is applied", async () => {
  const fieldsOf = (object: any) => JSON.stringify(object.metadata.managedFields);
  expect(fieldsOf(await get("v1", "untouched"))).not.toContain("f:color");
  const path = `${crates("v1", "applied")}?fieldManager=m&force=true`;
  const applied = await api.patch(path, APPLY_PATCH, crate("v1", "applied", { color: "red" }));
  expect(applied.status).toBe(200);
  expect(fieldsOf(applied.json)).toContain('"f:color":{}');
});

test("a watch shows changes and deletions with the object as it is read", async () => {
  const from = (await api.get(crates("v1"))).json.metadata.resourceVersion;
  expect((await api.delete(crates("v1", "deleted"))).status).toBe(200);
  for (const version of ["v1", "v1beta1"]) {
    const watch = await api.watch(`${crates(version)}?watch=true&timeoutSeconds=1&resourceVersion=${from}`);
    const [event] = parseEvents((await watch.finished).text.trimEnd().split("\n"));
    expect(event).toMatchObject({
      type: "DELETED",
      object: { apiVersion: `${GROUP}/${version}`, spec: { size: 3, color: "red" } },
    });
    expect(event.object.spec.label).toBeUndefined();
  }
});
