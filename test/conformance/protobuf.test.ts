// Requests and answers in protobuf, as client-go's typed and metadata clients exchange them.

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import { decodeProtobufObject, encodeProtobufObject } from "@postern/apimachinery/protobuf/protobuf-object";
import { readFields } from "@postern/apimachinery/protobuf/wire-reader";
import { describe, expect, test } from "vitest";
import { KEYS, key, MERGE_PATCH, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const PROTOBUF = "application/vnd.kubernetes.protobuf";
const MAPS = "/api/v1/namespaces/default/configmaps";
const UNTYPED = { apiVersion: "", kind: "" };

const send = async (method: string, path: string, body?: JsonObject, accept = PROTOBUF) => {
  const { status, headers, bytes } = await api.server.client.send({
    method,
    path,
    headers: { Authorization: "Bearer admin-token", Accept: accept, "Content-Type": PROTOBUF },
    body: body === undefined ? undefined : encodeProtobufObject(body),
  });
  const type = headers["content-type"];
  const object = type === PROTOBUF ? decodeProtobufObject(bytes, UNTYPED) : undefined;
  return { status, type, object };
};
const configMap = (name: string, data: JsonObject): JsonObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data,
});

test("a scale is replaced in protobuf", async () => {
  await api.post(WIDGETS, widget("scaled-pb"));
  const scale = `${WIDGETS}/scaled-pb/scale`;
  await api.patch(scale, MERGE_PATCH, { spec: { replicas: 3 } });
  const wanted = {
    apiVersion: "autoscaling/v1",
    kind: "Scale",
    metadata: { name: "scaled-pb", namespace: "default" },
    spec: { replicas: 2 },
  };
  expect(await send("PUT", scale, wanted)).toMatchObject({
    status: 200,
    type: PROTOBUF,
    object: { spec: { replicas: 2 } },
  });
  expect((await api.get(scale)).json.spec).toEqual({ replicas: 2 });
});

test("an object is created, read, replaced, patched and deleted in protobuf (N-17)", async () => {
  const created = await send("POST", MAPS, configMap("pb", { a: "1", text: "ö".repeat(100) }));
  expect(created).toMatchObject({ status: 201, type: PROTOBUF, object: configMap("pb", { a: "1" }) });
  const read = await send("GET", `${MAPS}/pb`);
  expect(read).toEqual({ ...created, status: 200 });
  expect(read.object).toEqual((await api.get(`${MAPS}/pb`)).json);
  const replaced = await send("PUT", `${MAPS}/pb`, { ...(read.object as JsonObject), data: { b: "2" } });
  expect(replaced).toMatchObject({ status: 200, type: PROTOBUF, object: { data: { b: "2" } } });
  const patched = await api.patch(`${MAPS}/pb`, MERGE_PATCH, { data: { c: "3" } }, { headers: { Accept: PROTOBUF } });
  expect(decodeProtobufObject(patched.bytes, UNTYPED)).toMatchObject({ data: { b: "2", c: "3" } });
  expect(await send("DELETE", `${MAPS}/pb`)).toMatchObject({
    status: 200,
    object: { kind: "Status", status: "Success" },
  });
});

test("a refusal is a Status in protobuf (N-17)", async () => {
  expect(await send("GET", `${MAPS}/absent`)).toMatchObject({
    status: 404,
    type: PROTOBUF,
    object: { kind: "Status", apiVersion: "v1", reason: "NotFound", details: { name: "absent" }, code: 404 },
  });
});

test("a list has its metadata and its items, whatever its length (N-17)", async () => {
  const path = "/api/v1/namespaces/other/configmaps";
  const query = `${path}?labelSelector=pb-list`;
  expect((await send("GET", query)).object).toMatchObject({ kind: "ConfigMapList", apiVersion: "v1" });
  const names = Array.from({ length: 60 }, (_, index) => `pb-${String(index).padStart(2, "0")}`);
  for (const name of names) {
    const map = configMap(name, { text: "x".repeat(40_000) });
    await api.post(path, { ...map, metadata: { name, labels: { "pb-list": "" } } });
  }
  for (const asked of [`${query}&limit=1`, query]) {
    const { object, type } = await send("GET", asked);
    const { json } = await api.get(asked);
    expect(type).toBe(PROTOBUF);
    // The next page has another token each time.
    expect(object?.["items"]).toEqual(json.items);
    expect(object?.["metadata"]).toMatchObject({ resourceVersion: expect.stringMatching(/^\d+$/) });
  }
});

/** Each frame is the length of an event and the event: `type = 1`, `object = 2`, which holds what an answer would be. */
function framesOf(bytes: Uint8Array): { readonly type: string; readonly object: JsonObject }[] {
  const buffer = Buffer.from(bytes);
  const frames: { type: string; object: JsonObject }[] = [];
  for (let at = 0; at < buffer.length; ) {
    const length = buffer.readUInt32BE(at);
    const fields = new Map(
      [...readFields(buffer.subarray(at + 4, at + 4 + length))].map(({ number, value }) => [number, value]),
    );
    const [raw] = [...readFields(fields.get(2) as Uint8Array)];
    frames.push({
      type: Buffer.from(fields.get(1) as Uint8Array).toString(),
      object: decodeProtobufObject(raw?.value as Uint8Array, UNTYPED),
    });
    at += 4 + length;
  }
  return frames;
}

test("a watch sends frames, bookmarks and errors among them (N-17)", async () => {
  await api.post(MAPS, { ...configMap("pb-watch", { a: "1" }), metadata: { name: "pb-watch", labels: { pbw: "" } } });
  const query =
    "watch=true&labelSelector=pbw&timeoutSeconds=2&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
  const watch = await api.watch(`${MAPS}?${query}&allowWatchBookmarks=true`, {
    headers: { Accept: `${PROTOBUF};stream=watch, application/json` },
  });
  await api.patch(`${MAPS}/pb-watch`, MERGE_PATCH, { data: { b: "2" } });
  const { headers, bytes } = await watch.finished;
  expect(headers["content-type"]).toBe(`${PROTOBUF};stream=watch`);
  const frames = framesOf(bytes);
  const [added, bookmark] = frames;
  expect(added).toMatchObject({ type: "ADDED", object: configMap("pb-watch", { a: "1" }) });
  expect(bookmark).toMatchObject({ type: "BOOKMARK", object: { kind: "ConfigMap" } });
  expect((bookmark!.object["metadata"] as any).annotations).toEqual({ "k8s.io/initial-events-end": "true" });
  expect(frames.find(({ type }) => type === "MODIFIED")?.object["data"]).toEqual({ a: "1", b: "2" });

  await api.server.compact();
  const late = await api.watch(`${MAPS}?watch=true&resourceVersion=1`, { headers: { Accept: PROTOBUF } });
  expect(framesOf((await late.finished).bytes)).toMatchObject([
    { type: "ERROR", object: { kind: "Status", code: 410 } },
  ]);
});

describe("kinds without a message", () => {
  test("are JSON, or refused where it is not accepted; their metadata and refusals are protobuf (N-18)", async () => {
    await api.post(KEYS, key("pb", { user: "u" }));
    await api.post(WIDGETS, widget("pb"));
    for (const path of [KEYS, `${KEYS}/pb`, WIDGETS, `${WIDGETS}/pb`]) {
      expect(await send("GET", path), path).toMatchObject({ status: 406, type: PROTOBUF, object: { code: 406 } });
      expect(await send("GET", path, undefined, `${PROTOBUF},application/json`)).toMatchObject({
        status: 200,
        type: "application/json",
      });
    }
    const partial = (kind: string) => `${PROTOBUF};as=${kind};v=v1;g=meta.k8s.io,application/json`;
    expect((await send("GET", `${KEYS}/pb`, undefined, partial("PartialObjectMetadata"))).object).toMatchObject({
      apiVersion: "meta.k8s.io/v1",
      kind: "PartialObjectMetadata",
      metadata: { name: "pb" },
    });
    const list = await send("GET", KEYS, undefined, partial("PartialObjectMetadataList"));
    expect(list.object).toMatchObject({
      kind: "PartialObjectMetadataList",
      items: expect.arrayContaining([{ metadata: expect.objectContaining({ name: "pb" }) }]),
    });
    const watch = await api.watch(`${KEYS}?watch=true&fieldSelector=metadata.name%3Dpb&timeoutSeconds=1`, {
      headers: { Accept: partial("PartialObjectMetadata") },
    });
    expect(framesOf((await watch.finished).bytes)[0]).toMatchObject({
      type: "ADDED",
      object: { kind: "PartialObjectMetadata", metadata: { name: "pb" } },
    });
  });

  test("have no Table in protobuf (N-18)", async () => {
    const accept = `${PROTOBUF};as=Table;v=v1;g=meta.k8s.io`;
    expect(await send("GET", MAPS, undefined, accept)).toMatchObject({ status: 406 });
  });
});

test("discovery comes in protobuf (N-19)", async () => {
  const same = async (path: string, accept = PROTOBUF, type = PROTOBUF) => {
    const { headers, bytes } = await api.get(path, { headers: { Accept: accept } });
    expect(headers["content-type"], path).toBe(type);
    const json = (await api.get(path, { headers: { Accept: accept.replace(PROTOBUF, "application/json") } })).json;
    const { apiVersion, ...read } = decodeProtobufObject(bytes, { apiVersion: "v1", kind: "" });
    expect(apiVersion).toBe(json.apiVersion ?? "v1");
    // JSON may leave the type of items out, and leaves out what is empty.
    expect(withoutEmpty(read)).toEqual(withoutEmpty({ ...json, apiVersion: undefined }));
  };
  for (const path of ["/api", "/apis", "/api/v1", "/apis/coordination.k8s.io", "/apis/coordination.k8s.io/v1"]) {
    await same(path);
  }
  const aggregated = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  await same("/apis", `${PROTOBUF};${aggregated}`, `${PROTOBUF};${aggregated}`);
});

function withoutEmpty(value: JsonValue | undefined): JsonValue | undefined {
  if (Array.isArray(value)) return value.map((item) => withoutEmpty(item) ?? null);
  if (typeof value !== "object" || value === null) return value === "" || value === null ? undefined : value;
  const members = Object.entries(value).map(([name, member]) => [name, withoutEmpty(member)] as const);
  const kept = members.filter(([, member]) => member !== undefined && !isEmpty(member));
  return Object.fromEntries(kept);
}

const isEmpty = (value: JsonValue | undefined): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;
