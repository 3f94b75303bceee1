// Tables and metadata alone, as kubectl and caches ask for them.

import { expect, test } from "vitest";
import { KEYS, key, MERGE_PATCH, parseEvents, TABLE, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
const asTable = { headers: { Accept: TABLE } };
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

test("has the metadata of the list, and of a single object its version (T-02)", async () => {
  for (const n of [1, 2, 3]) await api.post(KEYS, key(`t02-${n}`));
  const list = (await api.get(`${KEYS}?limit=1`)).json.metadata;
  const table = (await api.get(`${KEYS}?limit=1`, asTable)).json;
  expect(table.metadata).toEqual({
    resourceVersion: list.resourceVersion,
    continue: list.continue,
    remainingItemCount: list.remainingItemCount,
  });
  const single = (await api.get(`${KEYS}/t02-1`, asTable)).json;
  const { resourceVersion } = (await api.get(`${KEYS}/t02-1`)).json.metadata;
  expect(single.metadata).toEqual({ resourceVersion });
  expect(single.rows).toHaveLength(1);
});

test("has a cell for each column: null where nothing is, numbers as they are, ages in words (T-04)", async () => {
  await api.post(KEYS, key("t04", { user: "u1", ttl: 3600 }));
  await api.post(KEYS, key("t04-bare", {}));
  const cellsOf = async (name: string) => {
    const { columnDefinitions, rows } = (await api.get(`${KEYS}/${name}`, asTable)).json;
    expect(columnDefinitions.map((column: any) => column.name)).toEqual(["Name", "User", "Disabled", "TTL", "Age"]);
    return rows[0].cells;
  };
  expect(await cellsOf("t04")).toEqual(["t04", "u1", null, 3600, expect.stringMatching(/^\d+s$/)]);
  expect(await cellsOf("t04-bare")).toEqual(["t04-bare", null, null, null, expect.stringMatching(/^\d+s$/)]);
});

test("gives a Table of a creation and of each event, and none of a refusal or a deletion (T-06)", async () => {
  const created = await api.post(KEYS, key("t06"), asTable);
  expect({ status: created.status, kind: created.json.kind, cell: created.json.rows[0].cells[0] }).toEqual({
    status: 201,
    kind: "Table",
    cell: "t06",
  });
  expect((await api.post(KEYS, key("t06"), asTable)).json).toMatchObject({ kind: "Status", code: 409 });
  expect((await api.get(`${KEYS}/absent`, asTable)).json).toMatchObject({ kind: "Status", code: 404 });
  const watch = await api.watch(`${KEYS}?watch=true&fieldSelector=metadata.name%3Dt06`, asTable);
  await api.patch(`${KEYS}/t06`, MERGE_PATCH, { spec: { user: "u2" } });
  const [first, second] = parseEvents(await watch.lines(2));
  expect([first.object.kind, first.object.columnDefinitions.length, first.object.rows.length]).toEqual(["Table", 5, 1]);
  expect([second.type, second.object.columnDefinitions, second.object.rows[0].cells[1]]).toEqual([
    "MODIFIED",
    null,
    "u2",
  ]);
  watch.close();
  expect((await api.delete(`${KEYS}/t06`, {}, asTable)).json).toMatchObject({ kind: "Status", status: "Success" });
});

test("converts bookmarks to Tables, too, with their version (T-06)", async () => {
  await api.post(WIDGETS, widget("t06"));
  const path = `${WIDGETS}?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dt06`;
  const watch = await api.watch(path, asTable);
  const [added, bookmark] = parseEvents(await watch.lines(2));
  watch.close();
  expect([added.type, bookmark.type, bookmark.object.kind]).toEqual(["ADDED", "BOOKMARK", "Table"]);
  expect(Number(bookmark.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
    Number(added.object.metadata.resourceVersion),
  );
  expect(bookmark.object.rows[0].object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
});

test("lists and watches metadata alone, from the version of the list (T-08)", async () => {
  await api.post(KEYS, key("t08", { user: "u1" }, { labels: { case: "t08" } }));
  const { json } = await api.get(`${KEYS}?labelSelector=case%3Dt08`, { headers: { Accept: METADATA_LIST } });
  expect(json).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
  expect(json.items).toHaveLength(1);
  expect(Object.keys(json.items[0]).sort()).toEqual(["apiVersion", "kind", "metadata"]);
  expect(json.items[0]).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "t08" } });
  const { resourceVersion } = json.metadata;
  const watch = await api.watch(
    `${KEYS}?watch=true&allowWatchBookmarks=true&labelSelector=case%3Dt08&resourceVersion=${resourceVersion}`,
    { headers: { Accept: METADATA } },
  );
  await api.patch(`${KEYS}/t08`, MERGE_PATCH, { metadata: { labels: { n: "1" } } });
  const [event] = parseEvents(await watch.lines(1));
  expect(event).toMatchObject({
    type: "MODIFIED",
    object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: { labels: { n: "1" } } },
  });
  expect(event.object).not.toHaveProperty("spec");
  watch.close();
});
