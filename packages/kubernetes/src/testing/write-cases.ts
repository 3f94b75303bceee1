// How any resource is written: creates, replacements, patches, deletions, dry runs and field validation.

import { expect } from "vitest";
import type { ResourceSuiteContext } from "./resource-suite.ts";

const MERGE = { contentType: "application/merge-patch+json" };
const JSON_PATCH = { contentType: "application/json-patch+json" };
const STRATEGIC = { contentType: "application/strategic-merge-patch+json" };

export function describeWrites(suite: ResourceSuiteContext): void {
  const { definition, options, test, object } = suite;
  const { plural, tracksGeneration = true, strategicMergePatch = false } = definition;
  const create = async (name: string, metadata = {}) =>
    (await suite.client.send("POST", "", object(name, metadata))).json;

  test("creates an object with what only the server knows", ["create"], async () => {
    const { status, json } = await suite.client.send("POST", "", object("new", { uid: "mine", generation: 7 }));
    expect({ status, message: json.message }).toEqual({ status: 201, message: undefined });
    expect(json.metadata).toMatchObject({
      name: "new",
      uid: expect.stringMatching(/^[\da-f-]{36}$/),
      resourceVersion: expect.stringMatching(/^\d+$/),
      creationTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    // Kinds that do not track it keep the given value.
    expect(json.metadata.generation).toBe(tracksGeneration === false ? 7 : 1);
  });

  test("refuses a second object of the same name", ["create"], async () => {
    await create("taken");
    const { status, json } = await suite.client.send("POST", "", object("taken"));
    expect({ status, reason: json.reason, kind: json.details.kind }).toEqual({
      status: 409,
      reason: "AlreadyExists",
      kind: plural,
    });
  });

  test("replaces an object under its version, and refuses an old one", ["create", "update", "patch"], async () => {
    const old = await create("replaced");
    const labels = { ...old.metadata.labels, suite: "replaced" };
    const next = { ...old, metadata: { ...old.metadata, labels } };
    const { status, json } = await suite.client.send("PUT", "/replaced", next);
    expect({ status, labels: json.metadata.labels }).toEqual({ status: 200, labels });
    const again = await suite.client.send("PUT", "/replaced", next);
    expect(again).toMatchObject({ status: 409, json: { reason: "Conflict" } });
    expect(
      await suite.client.send("PUT", "/absent", { ...next, metadata: { name: "absent", resourceVersion: "1" } }),
    ).toMatchObject({
      status: definition.strategy?.allowCreateOnUpdate === true ? expect.any(Number) : 404,
    });
  });

  test("takes a write that changes nothing for none", ["create", "update"], async () => {
    const old = await create("same");
    const { status, json } = await suite.client.send("PUT", "/same", old);
    expect({ status, json }).toEqual({ status: 200, json: old });
  });

  test("changes by merge patch, and counts generations of what is wanted", ["create", "patch"], async () => {
    const old = await create("merged");
    const { status, json } = await suite.client.send("PATCH", "/merged", options.change, MERGE);
    expect({ status, json }).toMatchObject({ status: 200, json: options.change });
    expect(json.metadata.resourceVersion).not.toBe(old.metadata.resourceVersion);
    if (tracksGeneration === true && options.changesGeneration !== false) expect(json.metadata.generation).toBe(2);
    const labelled = await suite.client.send("PATCH", "/merged", { metadata: { labels: { suite: "x" } } }, MERGE);
    expect(labelled.json.metadata.generation).toBe(json.metadata.generation);
  });

  test("changes by JSON patch, and refuses one that does not fit", ["create", "patch"], async () => {
    await create("patched", { labels: { suite: "a" } });
    const replace = [{ op: "replace", path: "/metadata/labels/suite", value: "b" }];
    const { status, json } = await suite.client.send("PATCH", "/patched", replace, JSON_PATCH);
    expect({ status, label: json.metadata.labels.suite }).toEqual({ status: 200, label: "b" });
    const misfit = [{ op: "test", path: "/metadata/labels/suite", value: "a" }];
    expect(await suite.client.send("PATCH", "/patched", misfit, JSON_PATCH)).toMatchObject({ status: 422 });
  });

  test("takes strategic merge patches where it is built in, 415 elsewhere", ["create", "patch"], async () => {
    await create("strategic");
    const { status } = await suite.client.send(
      "PATCH",
      "/strategic",
      { metadata: { labels: { suite: "s" } } },
      STRATEGIC,
    );
    expect(status).toBe(strategicMergePatch ? 200 : 415);
  });

  test("keeps nothing of a dry run", ["create", "get", "patch", "delete"], async () => {
    const { status, json } = await suite.client.send("POST", "?dryRun=All", object("dry"));
    expect({ status, version: json.metadata.resourceVersion }).toEqual({ status: 201, version: undefined });
    expect(await suite.client.send("GET", "/dry")).toMatchObject({ status: 404 });
    const old = await create("kept");
    expect(await suite.client.send("PATCH", "/kept?dryRun=All", options.change, MERGE)).toMatchObject({ status: 200 });
    expect(await suite.client.send("DELETE", "/kept?dryRun=All")).toMatchObject({ status: 200 });
    expect((await suite.client.send("GET", "/kept")).json).toEqual(old);
  });

  test("refuses unknown fields, warns of them or drops them, as asked", ["create"], async () => {
    const odd = { ...object("odd"), noSuchField: 1 };
    expect(await suite.client.send("POST", "?fieldValidation=Strict", odd)).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining('unknown field "noSuchField"') },
    });
    const warned = await suite.client.send("POST", "?dryRun=All", odd);
    expect(warned).toMatchObject({ status: 201, warnings: expect.arrayContaining(['unknown field "noSuchField"']) });
    expect(warned.json).not.toHaveProperty("noSuchField");
    expect((await suite.client.send("POST", "?fieldValidation=Ignore", odd)).warnings).not.toContain(
      'unknown field "noSuchField"',
    );
  });

  test("answers a deletion with the uid of what is gone", ["create", "delete", "get"], async () => {
    const { metadata } = await create("gone");
    const { status, json } = await suite.client.send("DELETE", "/gone?propagationPolicy=Background");
    const isReturned = definition.returnsDeletedObject === true;
    expect({ status, json }).toMatchObject({
      status: 200,
      json: isReturned
        ? { metadata: { name: "gone", uid: metadata.uid } }
        : { kind: "Status", status: "Success", details: { name: "gone", kind: plural, uid: metadata.uid } },
    });
    expect(await suite.client.send("GET", "/gone")).toMatchObject({ status: 404 });
  });

  test(
    "keeps an object with finalizers until the last one is removed",
    ["create", "delete", "get", "patch"],
    async () => {
      await create("held", { finalizers: ["example.com/suite"] });
      const { json: held } = await suite.client.send("DELETE", "/held");
      expect(held.metadata).toMatchObject({
        deletionTimestamp: expect.any(String),
        finalizers: expect.arrayContaining(["example.com/suite"]),
      });
      expect(await suite.client.send("POST", "", object("held"))).toMatchObject({ status: 409 });
      await suite.client.send("PATCH", "/held", { metadata: { finalizers: null } }, MERGE);
      expect(await suite.client.send("GET", "/held")).toMatchObject({ status: 404 });
    },
  );

  test("deletes what a selector chooses, and answers with it", ["create", "deletecollection", "get"], async () => {
    await create("chosen", { labels: { suite: "chosen" } });
    await create("left");
    const { status, json } = await suite.client.send("DELETE", "?labelSelector=suite%3Dchosen");
    expect({ status, names: json.items.map((item: { metadata: { name: string } }) => item.metadata.name) }).toEqual({
      status: 200,
      names: ["chosen"],
    });
    expect(await suite.client.send("GET", "/left")).toMatchObject({ status: 200 });
  });
}
