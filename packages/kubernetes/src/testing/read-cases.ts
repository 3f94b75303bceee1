// How any resource is read: one object, lists, watches, Tables, and what the authorizer is asked.

import { authorizationAttributesOf } from "@postern/apiserver/context/authorization-attributes";
import { tableColumns } from "@postern/apiserver/endpoints/table/table-cells";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { expect } from "vitest";
import type { ResourceSuiteContext } from "./resource-suite.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

export function describeReads(suite: ResourceSuiteContext): void {
  const { definition, test, object } = suite;
  const { group, version, kind, plural, namespaced, listKind = `${kind}List` } = definition;
  const apiVersion = group === "" ? version : `${group}/${version}`;

  test("shows what was created, and 404 for what was not", ["create", "get"], async () => {
    const { json: created } = await suite.client.send("POST", "", object("one"));
    expect(await suite.client.send("GET", `/${created.metadata.name}`)).toMatchObject({ status: 200, json: created });
    expect(await suite.client.send("GET", "/absent")).toMatchObject({
      status: 404,
      json: { reason: "NotFound", details: { name: "absent", kind: plural } },
    });
  });

  test("lists objects in the order of their names, under one version", ["create", "list"], async () => {
    for (const name of ["list-b", "list-a"]) await suite.client.send("POST", "", object(name));
    const { status, json } = await suite.client.send("GET", "");
    expect({ status, kind: json.kind, apiVersion: json.apiVersion }).toEqual({
      status: 200,
      kind: listKind,
      apiVersion,
    });
    expect(json.metadata.resourceVersion).toMatch(/^\d+$/);
    const names = json.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    expect(names).toEqual(names.toSorted());
    expect(names).toEqual(expect.arrayContaining(["list-a", "list-b"]));
  });

  test("lists in pages that show one snapshot", ["create", "list"], async () => {
    for (const name of ["page-a", "page-b"]) await suite.client.send("POST", "", object(name));
    const { json: first } = await suite.client.send("GET", "?limit=1");
    await suite.client.send("POST", "", object("page-c"));
    expect(first.items).toHaveLength(1);
    const { json: rest } = await suite.client.send("GET", `?continue=${first.metadata.continue}`);
    expect(rest.items).toHaveLength(first.metadata.remainingItemCount);
    const { json: next } = await suite.client.send("GET", `?limit=1&continue=${first.metadata.continue}`);
    expect(next.items).toEqual(rest.items.slice(0, 1));
    expect(next.metadata.remainingItemCount ?? 0).toBeGreaterThanOrEqual(rest.items.length - 1);
    expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test("selects by label and by name", ["create", "list"], async () => {
    await suite.client.send("POST", "", object("with", { labels: { suite: "yes" } }));
    await suite.client.send("POST", "", object("without"));
    for (const query of ["labelSelector=suite%3Dyes", "fieldSelector=metadata.name%3Dwith"]) {
      const { json } = await suite.client.send("GET", `?${query}`);
      expect(json.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(["with"]);
    }
    expect(await suite.client.send("GET", "?fieldSelector=no.such%3Dfield")).toMatchObject({ status: 400 });
  });

  test(
    "sends a watch one event for a creation, a change and a deletion",
    ["create", "patch", "delete", "watch"],
    async () => {
      using watch = await suite.client.watch("fieldSelector=metadata.name%3Dwatched");
      await suite.client.send("POST", "", object("watched"));
      const added = await watch.next();
      expect(added).toMatchObject({ type: "ADDED", object: { apiVersion, kind, metadata: { name: "watched" } } });
      await suite.client.send("PATCH", "/watched", { metadata: { labels: { suite: "changed" } } }, MERGE);
      const modified = await watch.next();
      expect(modified).toMatchObject({ type: "MODIFIED", object: { metadata: { labels: { suite: "changed" } } } });
      await suite.client.send("DELETE", "/watched?propagationPolicy=Background");
      const deleted = await watch.next();
      expect(deleted.type).toBe("DELETED");
      expect(Number(deleted.object.metadata.resourceVersion)).toBeGreaterThan(
        Number(modified.object.metadata.resourceVersion),
      );
    },
  );

  test("prints as a Table: a cell for each column, one of them the name", ["create", "list"], async () => {
    await suite.client.send("POST", "", object("row"));
    const { json } = await suite.client.send("GET", "?fieldSelector=metadata.name%3Drow", undefined, { accept: TABLE });
    expect(json).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
    const { definitions } = tableColumns(definition);
    expect(json.columnDefinitions).toEqual(definitions);
    expect(json.rows).toHaveLength(1);
    expect(json.rows[0].cells).toHaveLength(definitions.length);
    expect(json.rows[0].cells[definitions.findIndex((column) => column.format === "name")]).toBe("row");
    expect(json.rows[0].object).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "row" } });
  });

  test("asks the authorizer for the verbs of Kubernetes on this resource", [], async () => {
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const collection = `${root}${namespaced ? "/namespaces/default" : ""}/${plural}`;
    const asked = [
      ["GET", `${collection}/x`],
      ["GET", collection],
      ["GET", `${collection}?watch=true`],
      ["POST", collection],
      ["PUT", `${collection}/x`],
      ["PATCH", `${collection}/x`],
      ["DELETE", `${collection}/x`],
      ["DELETE", collection],
    ].map(([method = "", url = ""]) => authorizationAttributesOf(createTestContext({ method, url })));
    expect(asked.map(({ verb, name }) => `${verb} ${name}`.trim())).toEqual([
      "get x",
      "list",
      "watch",
      "create",
      "update x",
      "patch x",
      "delete x",
      "deletecollection",
    ]);
    for (const attributes of asked) {
      expect(attributes).toMatchObject({
        apiGroup: group,
        resource: plural,
        isResourceRequest: true,
        // A namespace lies in itself.
        ...(group === "" && plural === "namespaces" ? {} : { namespace: namespaced ? "default" : "" }),
      });
    }
  });
}

const MERGE = { contentType: "application/merge-patch+json" };
