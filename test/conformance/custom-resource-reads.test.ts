// Lists, watches, bookmarks and discovery of custom resources through an embedded virtual cluster's own API: the options that upstream's validation was
// recorded with, and every form of an answer beside that of a built-in kind, which is served alike.
// Recordings: packages/apimachinery/src/validation/testdata, made with k8s.io/apimachinery 0.32.1.

import { readFile } from "node:fs/promises";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type RunningPlatform, startPlatform } from "../../packages/platform/src/testing/running-platform.ts";

const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const NAMESPACED = "namespaces/default";
const JSON_ALONE = "application/json";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const CUSTOM = {
  apiVersion: "reads.example.com/v1",
  kind: "Note",
  collection: `${CLUSTER}/apis/reads.example.com/v1/${NAMESPACED}/notes`,
} as const;
const BUILT_IN = {
  apiVersion: "v1",
  kind: "ConfigMap",
  collection: `${CLUSTER}/api/v1/${NAMESPACED}/configmaps`,
} as const;
type Kind = typeof CUSTOM | typeof BUILT_IN;
const BOTH: readonly Kind[] = [CUSTOM, BUILT_IN];
const LABEL = "labelSelector=case%3Dreads";

let platform: RunningPlatform;
/** Versions that upstream would have forgotten, been at, and not come to yet. */
let versions: { readonly before: string; readonly now: string };

async function create({ apiVersion, kind, collection }: Kind, name: string): Promise<void> {
  const metadata = { name, labels: { case: "reads" } };
  const made = await platform.send({ path: collection, body: { apiVersion, kind, metadata, data: { a: "b" } } });
  expect(made.status, made.text).toBe(201);
}

beforeAll(async () => {
  platform = await startPlatform();
  const definitions = `${CLUSTER}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
  await vi.waitFor(async () => expect((await platform.send({ path: definitions })).status).toBe(200));
  const text = { type: "object", additionalProperties: { type: "string" } };
  const names = { group: "reads.example.com", kind: "Note", plural: "notes" };
  const version = definitionVersion("v1", { type: "object", properties: { data: text } });
  const manifest: any = definitionManifest(names, version);
  const body = { ...manifest, spec: { ...manifest.spec, scope: "Namespaced" } };
  const made = await platform.send({ path: definitions, body });
  expect(made.status, made.text).toBe(201);
  await vi.waitFor(async () => expect((await platform.send({ path: CUSTOM.collection })).status).toBe(200));
  await vi.waitFor(async () => expect((await platform.send({ path: BUILT_IN.collection })).body.items.length).toBe(1));
  const { metadata } = (await platform.send({ path: BUILT_IN.collection })).body;
  for (const kind of BOTH) for (const name of ["a", "b", "c"]) await create(kind, name);
  const now = (await platform.send({ path: BUILT_IN.collection })).body.metadata.resourceVersion;
  versions = { before: metadata.resourceVersion, now };
});
afterAll(() => platform?.[Symbol.asyncDispose]());

test("options of lists and watches are judged as upstream's validation judges them", async () => {
  const file = new URL("../../packages/apimachinery/src/validation/testdata/06d-list-options.json", import.meta.url);
  const { cases } = JSON.parse(await readFile(file, "utf8"));
  // Watches may begin with a list here. A watch that is in order does not end.
  const asked = cases.filter(
    ({ watchList, options, errors }: any) => watchList && (!options.watch || errors.length > 0),
  );
  expect(asked.length).toBeGreaterThan(50);
  for (const { id, options, errors } of asked) {
    const set = Object.entries(options).filter(([, value]) => value !== "" && value !== 0);
    const query = set.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join("&");
    const { status, body } = await platform.send({ path: `${CUSTOM.collection}?${query}` });
    const causes = (body?.details?.causes ?? []).map(({ field, message }: any) => `${field}: ${message}`).toSorted();
    const wanted = errors.map(({ field, message }: any) => `${field}: ${message}`).toSorted();
    expect([id, status === 422, causes]).toEqual([id, errors.length > 0, wanted]);
  }
});

/** With what differs between the two kinds taken out: ConfigMaps count no generations, and an empty list of the kind is in the bookmark. */
function alike({ kind, apiVersion }: Kind, text: string): string {
  return text
    .replaceAll(JSON.stringify(apiVersion), '"<version>"')
    .replaceAll('"apiVersion":"v1"', '"apiVersion":"<version>"')
    .replaceAll(',"generation":1', "")
    .replaceAll(/"eyJ[\w=]+"/g, '"<list>"')
    .replaceAll(`"${kind}List"`, '"<kind>List"')
    .replaceAll(`"${kind}"`, '"<kind>"')
    .replaceAll(/"(uid|resourceVersion|creationTimestamp|time|continue)":"[^"]*"/g, '"$1":"<any>"')
    .replaceAll(/"[0-9]+m?s"/g, '"<age>"')
    .replaceAll(/ \(\d+\)|: \d+, current: \d+/g, "<versions>");
}

/** As Kubernetes does, a list of custom resources names the type of each item, and a list of a built-in kind does not. */
const withoutTypes = (list: string): string =>
  list.replaceAll('{"apiVersion":"<version>","kind":"<kind>","metadata"', '{"metadata"');

/** With its columns and cells, which are those of the kind, taken out. */
const withoutCells = (table: any) => ({
  ...table,
  columnDefinitions: undefined,
  rows: table.rows?.map(({ cells, ...row }: any) => ({ ...row, name: cells[0] })),
});

const queries = (): readonly string[] => {
  const { before, now } = versions;
  return [
    "",
    "resourceVersion=0",
    `resourceVersion=${now}`,
    `resourceVersion=${now}&resourceVersionMatch=Exact`,
    `resourceVersion=${before}&resourceVersionMatch=Exact`,
    `resourceVersion=${now}&resourceVersionMatch=NotOlderThan`,
    "resourceVersion=0&resourceVersionMatch=NotOlderThan",
    "resourceVersion=x",
    "resourceVersion=999999999&timeoutSeconds=1",
    "limit=2",
    "limit=2&resourceVersion=0",
    `limit=2&resourceVersion=${now}&resourceVersionMatch=Exact`,
    "limit=2&continue=nonsense",
    "fieldSelector=metadata.name%3Db",
    "fieldSelector=metadata.namespace%3Dother",
    "labelSelector=case%3Dother",
    "labelSelector=case+in",
  ];
};

test("lists of every kind of version, page, selection and form are those of a built-in kind", async () => {
  for (const query of queries()) {
    for (const accept of [JSON_ALONE, TABLE, METADATA_LIST]) {
      const answers = await Promise.all(
        BOTH.map(async (kind) => {
          const path = `${kind.collection}?${query.includes("labelSelector") ? "" : `${LABEL}&`}${query}`;
          const { status, text, body } = await platform.send({ path, headers: { accept } });
          const shown = body?.kind === "Table" ? JSON.stringify(withoutCells(body)) : text;
          return [status, withoutTypes(alike(kind, shown))];
        }),
      );
      expect(answers[0], `${query} as ${accept}`).toEqual(answers[1]);
    }
  }
});

test("a list can be continued, at the version of its first page", async () => {
  const pages = await Promise.all(
    BOTH.map(async ({ collection }) => {
      const first = (await platform.send({ path: `${collection}?${LABEL}&limit=2` })).body;
      const rest = `${collection}?${LABEL}&limit=2&continue=${encodeURIComponent(first.metadata.continue)}`;
      const second = (await platform.send({ path: rest })).body;
      return { first, second };
    }),
  );
  for (const { first, second } of pages) {
    expect(first.metadata.remainingItemCount).toBeUndefined();
    expect([...first.items, ...second.items].map(({ metadata }: any) => metadata.name)).toEqual(["a", "b", "c"]);
    expect(second.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion });
  }
});

const WATCHES = [
  "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
  "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0",
  "sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
  "sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
  "",
  "resourceVersion=0&allowWatchBookmarks=true",
] as const;

test.each(WATCHES.flatMap((query) => [JSON_ALONE, TABLE, METADATA].map((accept) => [query, accept] as const)))(
  "a watch with %j as %s sends the events of a built-in kind",
  async (query, accept) => {
    const name = `w-${WATCHES.indexOf(query)}-${accept.length}`;
    const events = await Promise.all(
      BOTH.map(async (kind) => {
        const path = `${kind.collection}?watch=true&${LABEL}&${query}&timeoutSeconds=55`;
        // A watch without initial events says nothing until something happens.
        const isSilent = query.startsWith("sendInitialEvents=false");
        const stream = await platform.open({ path, headers: { accept } }, isSilent ? "head" : "bytes");
        expect(stream.status, stream.text()).toBe(200);
        await create(kind, name);
        const patch = { metadata: { annotations: { changed: "yes" } } };
        expect((await platform.send({ method: "PATCH", path: `${kind.collection}/${name}`, body: patch })).status).toBe(
          200,
        );
        await platform.send({ method: "DELETE", path: `${kind.collection}/${name}` });
        await vi.waitFor(() =>
          expect(
            stream
              .text()
              .split("\n")
              .filter((line) => line.includes('"DELETED"')).length,
          ).toBeGreaterThan(0),
        );
        const lines = stream
          .text()
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line));
        return lines.map(({ type, object }) => {
          const shown = object.kind === "Table" ? withoutCells(object) : object;
          return alike(kind, JSON.stringify({ type, object: shown }));
        });
      }),
    );
    const types = (lines: readonly string[] = []) => lines.map((line) => JSON.parse(line).type);
    expect(types(events[0])).toContain("MODIFIED");
    expect(events[0]).toEqual(events[1]);
    const ends = events[0]?.filter((line) => line.includes('"k8s.io/initial-events-end":"true"')) ?? [];
    // As upstream: a watch from no version, or from any, begins with what there is as well, and says where that ends to those that want bookmarks.
    const isTold = query.includes("Bookmarks=true") && !query.includes("sendInitialEvents=false");
    expect(ends.length).toBe(isTold ? 1 : 0);
  },
);

test("aggregated discovery shows a custom resource as it shows a built-in one", async () => {
  const shape = async (path: string, group: string, plural: string) => {
    const { body } = await platform.send({ path: `${CLUSTER}${path}`, headers: { accept: DISCOVERY } });
    const found = body.items.find(({ metadata }: any) => (metadata.name ?? "") === group).versions[0];
    const resource = found.resources.find((each: any) => each.resource === plural);
    return { version: found.version, freshness: found.freshness, ...resource };
  };
  const custom = await shape("/apis", "reads.example.com", "notes");
  expect(custom).toEqual({
    version: "v1",
    freshness: "Current",
    resource: "notes",
    responseKind: { group: "reads.example.com", version: "v1", kind: "Note" },
    scope: "Namespaced",
    singularResource: "note",
    verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
  });
  const builtIn = await shape("/api", "", "configmaps");
  expect(custom.verbs.toSorted()).toEqual(builtIn.verbs.toSorted());
  const { resources } = (await platform.send({ path: `${CLUSTER}/apis/reads.example.com/v1` })).body;
  expect(resources).toEqual([
    expect.objectContaining({ name: "notes", kind: "Note", namespaced: true, storageVersionHash: expect.any(String) }),
  ]);
});
