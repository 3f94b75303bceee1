// One kind of custom resources in several versions: what each of them shows, keeps, warns of, and who owns which field.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { definitionManifest } from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, expect, test } from "vitest";
import { APPLY_PATCH, apiOf, MERGE_PATCH, parseEvents } from "./testing/api.ts";
import { type RunningServer, startServer } from "./testing/start-server.ts";

const VERSIONS = "/apis/gadgets.example.com";
const version = (name: string, isStored: boolean, properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  name,
  served: true,
  storage: isStored,
  subresources: { status: {} },
  schema: {
    openAPIV3Schema: {
      type: "object",
      properties: {
        spec: { type: "object", properties },
        status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
      },
    },
  },
  ...more,
});
const CRD = definitionManifest(
  { group: "gadgets.example.com", kind: "Gadget", plural: "gadgets" },

  version("v1alpha1", false, { size: { type: "integer" } }, { deprecated: true, deprecationWarning: "use another" }),
  version("v1beta1", false, { size: { type: "integer", default: 1 }, old: { type: "string" } }, { deprecated: true }),
  version("v1", true, {
    size: { type: "integer", maximum: 10 },
    color: { type: "string", default: "red" },
    old: { type: "string" },
  }),
);

let server: RunningServer;
let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
const api = apiOf(() => server);
beforeAll(async () => {
  folder = await temporaryDirectory("postern-versions-");
  const file = join(folder.path, "gadgets.yaml");
  await writeFile(file, JSON.stringify(CRD));
  server = await startServer({ crdFiles: [file] });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

const gadget = (at: string, name: string, spec: JsonObject): JsonObject => ({
  apiVersion: `gadgets.example.com/${at}`,
  kind: "Gadget",
  metadata: { name },
  spec,
});
const gadgets = (at: string, name = ""): string => `${VERSIONS}/${at}/gadgets${name === "" ? "" : `/${name}`}`;
const specOf = async (at: string, name: string) => (await api.get(gadgets(at, name))).json.spec;
const apply = (at: string, name: string, manager: string, spec: JsonObject, force = false) =>
  api.patch(`${gadgets(at, name)}?fieldManager=${manager}&force=${force}`, APPLY_PATCH, gadget(at, name, spec));

test("storageVersionHash is that of the stored version, whichever is asked for (V-07)", async () => {
  const hashes = await Promise.all(
    ["v1", "v1beta1", "v1alpha1"].map(async (at) => (await api.get(`${VERSIONS}/${at}`)).json.resources[0]),
  );
  const [first, ...others] = hashes.map(({ storageVersionHash }) => storageVersionHash);
  expect(others).toEqual([first, first]);
  expect((await api.get(VERSIONS)).json.preferredVersion.version).toBe("v1");
});

test("an object is served in every version, with the fields of that version", async () => {
  expect((await api.post(gadgets("v1"), gadget("v1", "shown", { size: 2, color: "blue" }))).status).toBe(201);
  expect(await specOf("v1beta1", "shown")).toEqual({ size: 2 });
  const { items } = (await api.get(gadgets("v1alpha1"))).json;
  expect(items[0]).toMatchObject({ apiVersion: "gadgets.example.com/v1alpha1", spec: { size: 2 } });
  const watch = await api.watch(`${gadgets("v1beta1")}?watch=true&timeoutSeconds=1`);
  const [event] = parseEvents((await watch.finished).text.trimEnd().split("\n"));
  expect(event.object).toMatchObject({ apiVersion: "gadgets.example.com/v1beta1", spec: { size: 2 } });
});

test("an object gets the defaults of the version that it is sent in, and of the one that is stored", async () => {
  const made = await api.post(gadgets("v1beta1"), gadget("v1beta1", "filled", { old: "x" }));
  expect(made.json.spec).toEqual({ size: 1, old: "x" });
  expect(await specOf("v1", "filled")).toEqual({ size: 1, old: "x", color: "red" });
});

test("a write drops fields that its version does not know, and is validated by that version", async () => {
  await api.post(gadgets("v1"), gadget("v1", "lost", { size: 2, color: "blue" }));
  expect((await api.patch(gadgets("v1", "lost"), MERGE_PATCH, { spec: { size: 11 } })).status).toBe(422);
  expect((await api.patch(gadgets("v1beta1", "lost"), MERGE_PATCH, { spec: { old: "y" } })).status).toBe(200);
  expect(await specOf("v1", "lost")).toEqual({ size: 2, old: "y", color: "red" });
});

test("fields have their owners in whichever version they were applied", async () => {
  expect((await apply("v1beta1", "owned", "m1", { size: 3 })).status).toBe(201);
  const conflict = await apply("v1", "owned", "m2", { size: 4 });
  expect(conflict.json).toMatchObject({ code: 409, details: { causes: [{ field: ".spec.size" }] } });
  expect((await apply("v1", "owned", "m2", { size: 4 }, true)).status).toBe(200);
  expect((await apply("v1", "owned", "m2", { color: "blue" })).status).toBe(200);
  expect((await apply("v1beta1", "owned", "m1", { old: "z" })).status).toBe(200);
  const { managedFields } = (await api.get(gadgets("v1", "owned"))).json.metadata;
  // They stand in the order of their times, which are the same within a second.
  expect(managedFields.map(({ manager, apiVersion }: any) => [manager, apiVersion]).sort()).toEqual([
    ["m1", "gadgets.example.com/v1beta1"],
    ["m2", "gadgets.example.com/v1"],
  ]);
});

test("a deprecated version warns, in its own words or with a better one", async () => {
  const warningsOf = async (at: string) => (await api.get(gadgets(at))).headers["warning"];
  expect(await warningsOf("v1")).toBeUndefined();
  expect(await warningsOf("v1alpha1")).toBe('299 - "use another"');
  expect(await warningsOf("v1beta1")).toBe(
    '299 - "gadgets.example.com/v1beta1 Gadget is deprecated; use gadgets.example.com/v1 Gadget"',
  );
});

test("every version has a status of its own", async () => {
  await api.post(gadgets("v1"), gadget("v1", "state", {}));
  const path = `${gadgets("v1beta1", "state")}/status`;
  expect((await api.patch(path, MERGE_PATCH, { status: { ready: true } })).json.status).toEqual({ ready: true });
  expect((await api.get(gadgets("v1", "state"))).json.status).toEqual({ ready: true });
});

test("an object is gone from all versions at once, and its collection too", async () => {
  await api.post(gadgets("v1"), gadget("v1", "gone", {}));
  expect((await api.delete(gadgets("v1alpha1", "gone"))).status).toBe(200);
  expect((await api.get(gadgets("v1", "gone"))).status).toBe(404);
  expect((await api.delete(gadgets("v1beta1"))).status).toBe(200);
  expect((await api.get(gadgets("v1"))).json.items).toEqual([]);
});
