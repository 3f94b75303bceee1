// managedFields must not make an object too large to be stored.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Gadgets, gadget, serveGadgets } from "../../testing/gadgets.ts";

/** Enough for the labels below, not for them and for who owns them. */
const MAX_VALUE_BYTES = 1_500;
const MERGE = { contentType: "application/merge-patch+json" };
const APPLY = { contentType: "application/apply-patch+yaml" };
const labels = Object.fromEntries(Array.from({ length: 50 }, (_none, n) => [`label-${n}`, "x"]));

let gadgets: Gadgets;
beforeEach(async () => {
  gadgets = await serveGadgets({ maxValueBytes: MAX_VALUE_BYTES });
});
afterEach(() => gadgets[Symbol.asyncDispose]());

it("an object that is too large is created without its managed fields (S-25)", async () => {
  const { status, json } = await gadgets.client.send("POST", "", gadget({ name: "a", labels }));
  expect({ status, labels: json.metadata.labels }).toEqual({ status: 201, labels });
  expect(json.metadata).not.toHaveProperty("managedFields");
});

it("an object that is too large is changed without its managed fields (S-25)", async () => {
  await gadgets.client.send("POST", "", gadget({ name: "a", labels: { a: "b" } }));
  const { status, json } = await gadgets.client.send("PATCH", "/a", { metadata: { labels } }, MERGE);
  expect(status).toBe(200);
  expect(json.metadata).not.toHaveProperty("managedFields");
});

it("an object that is too large is refused where managed fields are the point: in an apply (S-25)", async () => {
  await gadgets.client.send("POST", "", gadget({ name: "a", labels: { a: "b" } }));
  const { status } = await gadgets.client.send("PATCH", "/a?fieldManager=m", gadget({ name: "a", labels }), APPLY);
  expect(status).toBe(413);
});

it("an object is refused when it is too large by itself (S-25)", async () => {
  const annotations = { a: "x".repeat(MAX_VALUE_BYTES) };
  expect(await gadgets.client.send("POST", "", gadget({ name: "a", annotations }))).toMatchObject({
    status: 413,
    json: { reason: "RequestEntityTooLarge" },
  });
});

it.each(["POST", "PUT", "PATCH", "APPLY"])("a dry run of %s answers as the write would", async (verb) => {
  await gadgets.client.send("POST", "", gadget({ name: "a", labels: { a: "b" } }));
  const send = async (query: string, annotations: JsonObject, more: JsonObject) => {
    const { resourceVersion } = (await gadgets.client.send("GET", "/a")).json.metadata;
    const version = verb === "PUT" ? { resourceVersion } : {};
    const body = gadget({ name: verb === "POST" ? "b" : "a", labels: more, annotations, ...version });
    if (verb === "POST") return await gadgets.client.send("POST", query, body);
    if (verb === "PUT") return await gadgets.client.send("PUT", `/a${query}`, body);
    if (verb === "PATCH") return await gadgets.client.send("PATCH", `/a${query}`, { metadata: body.metadata }, MERGE);
    return await gadgets.client.send("PATCH", `/a${query}${query === "" ? "?" : "&"}fieldManager=m`, body, APPLY);
  };
  const large = { a: "x".repeat(MAX_VALUE_BYTES) };
  const dry = await send("?dryRun=All", large, {});
  expect(dry.status).toBe(413);
  expect(dry.json).toEqual((await send("", large, {})).json);
  const withoutManagers = await send("?dryRun=All", {}, labels);
  const written = await send("", {}, labels);
  expect(withoutManagers.status).toBe(written.status);
  expect("managedFields" in (withoutManagers.json.metadata ?? {})).toBe(
    "managedFields" in (written.json.metadata ?? {}),
  );
});
