// Requests of clients other than kubectl, in the order in which they make them, with the headers that they send.

import { readFile } from "node:fs/promises";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { decodeProtobufObject } from "@postern/apimachinery/protobuf/protobuf-object";
import { expect, test } from "vitest";
import {
  API,
  APPLY_PATCH,
  GROUP,
  JSON_PATCH,
  KEYS,
  key,
  MERGE_PATCH,
  parseEvents,
  useServer,
  WIDGETS,
  widget,
} from "./testing/api.ts";

const api = useServer();
const PROTOBUF = "application/vnd.kubernetes.protobuf";
const versionOf = (json: { readonly metadata: { readonly resourceVersion: string } }) => json.metadata.resourceVersion;

test("lets a reflector list, follow, take up where a watch ended, and list again after 410 (M-01)", async () => {
  const path = `${API}/namespaces/other/widgets`;
  await api.post(path, widget("m01"));
  const list = (await api.get(`${path}?limit=500&resourceVersion=0`)).json;
  expect(list.metadata).not.toHaveProperty("remainingItemCount");
  const follow = (version: string, query = "timeoutSeconds=400") =>
    api.watch(`${path}?allowWatchBookmarks=true&resourceVersion=${version}&${query}&watch=true`);

  const first = await follow(versionOf(list), "timeoutSeconds=1");
  await api.patch(`${path}/m01`, MERGE_PATCH, { metadata: { labels: { a: "1" } } });
  const [seen] = parseEvents(await first.lines(1));
  expect(seen.type).toBe("MODIFIED");
  // The stream ends by itself, without an event that says so.
  const { text } = await first.finished;
  expect(
    text
      .trim()
      .split("\n")
      .filter((line) => !line.includes('"BOOKMARK"')),
  ).toHaveLength(1);

  await api.patch(`${path}/m01`, MERGE_PATCH, { metadata: { labels: { a: "2" } } });
  const second = await follow(versionOf(seen.object));
  const [missed] = parseEvents(await second.lines(1));
  expect({ type: missed.type, labels: missed.object.metadata.labels }).toEqual({
    type: "MODIFIED",
    labels: { a: "2" },
  });
  second.close();

  await api.server.compact();
  const [tooOld] = parseEvents(await (await follow("1")).lines(1));
  expect(tooOld).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } });
  const again = (await api.get(`${path}?limit=500`)).json;
  expect(again.items[0].metadata.labels).toEqual({ a: "2" });
  const third = await follow(versionOf(again));
  await api.delete(`${path}/m01`);
  expect(parseEvents(await third.lines(1))[0].type).toBe("DELETED");
  third.close();
});

/** A Lease `released` with the holder "" and no transitions, both set. */
const RELEASED_LEASE = "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRISCgoKCHJlbGVhc2VkEgQKACgAGgAiAA==";

type ProtobufCase = { readonly base64: string; readonly json: JsonObject };

test("accepts protobuf from typed clients for built-in kinds, and answers so (M-02)", async () => {
  const file = new URL("../../packages/apimachinery/src/protobuf/testdata/protobuf-reviews.json", import.meta.url);
  const { cases }: { readonly cases: readonly ProtobufCase[] } = JSON.parse(await readFile(file, "utf8"));
  const bytesOf = (kind: string) => {
    const found = cases.find(({ json }) => json["kind"] === kind);
    if (found === undefined) throw new Error(`there is no ${kind}`);
    return Buffer.from(found.base64, "base64");
  };
  const typed = (method: string, path: string, body: Buffer) =>
    api.server.client.send({
      method,
      path,
      headers: {
        Authorization: "Bearer admin-token",
        Accept: `${PROTOBUF},application/json`,
        "Content-Type": PROTOBUF,
      },
      body,
    });
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const created = await typed("POST", leases, bytesOf("Lease"));
  expect({ status: created.status, type: created.headers["content-type"] }).toEqual({
    status: 201,
    type: PROTOBUF,
  });
  const read = ({ bytes }: { readonly bytes: Uint8Array }): any =>
    decodeProtobufObject(bytes, { apiVersion: "", kind: "" });
  const { metadata, spec } = read(created);
  expect({ name: metadata.name, holder: spec.holderIdentity }).toEqual({ name: "l", holder: "holder" });
  // A second elector finds the name taken, and may not take the lease over without naming the version that it has seen.
  expect((await typed("POST", leases, bytesOf("Lease"))).status).toBe(409);
  expect((await typed("PUT", `${leases}/l`, bytesOf("Lease"))).status).toBe(422);
  // An elector that steps down leaves an empty holder behind, and says so: a pointer to an empty text.
  const released = await typed("POST", leases, Buffer.from(RELEASED_LEASE, "base64"));
  expect([released.status, read(released).spec]).toEqual([201, { holderIdentity: "", leaseTransitions: 0 }]);
  // The options of the sample name another uid.
  const refused = await typed("DELETE", `${leases}/l`, bytesOf("DeleteOptions"));
  expect({ status: refused.status, message: read(refused).message }).toMatchObject({
    status: 409,
    message: expect.stringContaining("the UID in the precondition"),
  });
});

test("answers metadata clients with metadata alone, in lists and watches (M-03)", async () => {
  const accept = (kind: string) => ({
    headers: {
      Accept: [`application/json;as=${kind};g=meta.k8s.io;v=v1`, "application/json"].join(","),
    },
  });
  await api.post(KEYS, key("m03", { user: "u" }, { labels: { m03: "" } }));
  const list = (await api.get(`${KEYS}?labelSelector=m03`, accept("PartialObjectMetadataList"))).json;
  expect(list).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
  expect(list.items).toEqual([
    { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: expect.objectContaining({ name: "m03" }) },
  ]);
  const watch = await api.watch(
    `${KEYS}?watch=true&labelSelector=m03&resourceVersion=${versionOf(list)}`,
    accept("PartialObjectMetadata"),
  );
  await api.patch(`${KEYS}/m03`, MERGE_PATCH, { spec: { user: "v" } });
  const [event] = parseEvents(await watch.lines(1));
  expect(event).toMatchObject({
    type: "MODIFIED",
    object: { kind: "PartialObjectMetadata", metadata: { name: "m03" } },
  });
  expect(event.object).not.toHaveProperty("spec");
  watch.close();
});

test("applies for dynamic clients, which force and name their manager (M-03)", async () => {
  const apply = (user: string, manager: string) =>
    api.patch(`${KEYS}/m03-dynamic?fieldManager=${manager}&force=true`, APPLY_PATCH, key("m03-dynamic", { user }));
  expect((await apply("a", "one")).status).toBe(201);
  const { json } = await apply("b", "two");
  expect({ spec: json.spec, managers: json.metadata.managedFields.map(({ manager }: any) => manager) }).toEqual({
    spec: { user: "b" },
    managers: ["two"],
  });
});

test("gives controller-runtime the same by either kind of discovery (M-04)", async () => {
  const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const { items } = (await api.get("/apis", { headers: { Accept: aggregated } })).json;
  const group = items.find(({ metadata }: any) => metadata.name === GROUP);
  const found = group.versions[0].resources.flatMap(
    ({ resource, scope, responseKind, verbs, subresources = [] }: any) => [
      { name: resource, namespaced: scope === "Namespaced", kind: responseKind.kind, verbs: verbs.toSorted() },
      ...subresources.map((sub: any) => ({
        name: `${resource}/${sub.subresource}`,
        namespaced: scope === "Namespaced",
        kind: sub.responseKind.kind,
        verbs: sub.verbs.toSorted(),
      })),
    ],
  );
  const legacy = (await api.get(API)).json.resources.map(({ name, namespaced, kind, verbs }: any) => ({
    name,
    namespaced,
    kind,
    verbs: verbs.toSorted(),
  }));
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
  expect(legacy.toSorted(byName)).toEqual(found.toSorted(byName));
  expect(legacy.map(({ name }: any) => name)).toContain("widgets/scale");
});

test("lets controllers lock their patches, patch status, and take finalizers off (M-04)", async () => {
  const { json } = await api.post(WIDGETS, widget("m04", { size: 1 }, { finalizers: ["example.com/a"] }));
  const locked = (resourceVersion: string, labels: JsonObject) =>
    api.patch(`${WIDGETS}/m04`, MERGE_PATCH, { metadata: { resourceVersion, labels } });
  const first = await locked(versionOf(json), { a: "1" });
  expect(first.status).toBe(200);
  expect((await locked(versionOf(json), { a: "2" })).json).toMatchObject({ code: 409, reason: "Conflict" });
  const status = { status: { conditions: [{ type: "Ready", status: "True" }] } };
  expect((await api.patch(`${WIDGETS}/m04/status`, MERGE_PATCH, status)).json.status).toEqual(status.status);
  const deleted = await api.delete(`${WIDGETS}?labelSelector=a%3D1`, { propagationPolicy: "Background" });
  expect(deleted.json).toMatchObject({ kind: "WidgetList", items: [{ metadata: { name: "m04" } }] });
  const held = (await api.get(`${WIDGETS}/m04`)).json;
  expect(held.metadata.deletionTimestamp).toEqual(expect.any(String));
  const { finalizers: _, ...metadata } = held.metadata;
  expect((await api.put(`${WIDGETS}/m04`, { ...held, metadata })).status).toBe(200);
  expect((await api.get(`${WIDGETS}/m04`)).status).toBe(404);
});

test("plans for Terraform by a dry apply, and keeps exactly what is applied (M-07)", async () => {
  const { definitions } = (await api.get("/openapi/v2")).json;
  const kinds = Object.values<any>(definitions).flatMap((schema) => schema["x-kubernetes-group-version-kind"] ?? []);
  expect(kinds).toContainEqual({ group: GROUP, version: "v1", kind: "Widget" });
  const manifest = widget("m07", {
    size: 1,
    labels: { empty: "" },
    ports: [],
    free: { none: null, list: [], text: "" },
    nul: null,
  });
  const apply = (query: string) =>
    api.patch(`${WIDGETS}/m07?fieldManager=Terraform&force=false${query}`, APPLY_PATCH, manifest);
  const planned = await apply("&dryRun=All");
  expect(planned.status).toBe(201);
  expect((await api.get(`${WIDGETS}/m07`)).status).toBe(404);
  expect((await apply("")).json.spec).toEqual(planned.json.spec);
  const { metadata, spec } = (await api.get(`${WIDGETS}/m07`)).json;
  expect(spec).toEqual({ ...(manifest["spec"] as JsonObject), color: "red" });
  // A second plan finds nothing to do.
  const again = await apply("&dryRun=All");
  expect({ status: again.status, spec: again.json.spec, metadata: again.json.metadata }).toEqual({
    status: 200,
    spec,
    metadata,
  });
});

test("answers Helm by reasons, keeps its releases, and merges three ways (M-08)", async () => {
  expect((await api.get(`${WIDGETS}/m08`)).json).toMatchObject({ kind: "Status", code: 404, reason: "NotFound" });
  const secrets = "/api/v1/namespaces/default/secrets";
  const labels = { owner: "helm", name: "demo", status: "deployed", version: "1" };
  const release = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "sh.helm.release.v1.demo.v1", labels },
    type: "helm.sh/release.v1",
    data: { release: Buffer.from("a release").toString("base64") },
  };
  expect((await api.post(secrets, release)).status).toBe(201);
  expect((await api.post(secrets, release)).json).toMatchObject({ code: 409, reason: "AlreadyExists" });
  const { items } = (await api.get(`${secrets}?labelSelector=name%3Ddemo%2Cowner%3Dhelm`)).json;
  expect(items.map(({ data }: any) => data)).toEqual([release.data]);
  expect((await api.post(`${WIDGETS}?fieldManager=helm`, widget("m08", { size: 1, mode: "A" }))).status).toBe(201);
  await api.patch(`${WIDGETS}/m08`, JSON_PATCH, [{ op: "add", path: "/spec/replicas", value: 3 }]);
  // From the old manifest to the new one, keeping what another client has set since.
  const merged = await api.patch(`${WIDGETS}/m08?fieldManager=helm`, MERGE_PATCH, { spec: { mode: null, size: 2 } });
  expect(merged.json.spec).toEqual({ size: 2, replicas: 3, color: "red" });
});
