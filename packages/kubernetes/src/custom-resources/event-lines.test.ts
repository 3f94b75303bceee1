// Many watches of the same objects in other forms: each line is made once, and dear ones in turns.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createEventLines } from "@postern/apiserver/endpoints/handlers/event-lines";
import { defineResource } from "@postern/apiserver/registry/resource-definition";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { type ServedResources, serveResources } from "@postern/apiserver/testing/serve-resources";
import { createTestContext, type TestRequest } from "@postern/apiserver/testing/test-context";
import { StreamFault } from "@postern/apiserver/transport/api-response";
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import { definitionsFromCrd } from "./definition-from-crd.ts";
import { definitionManifest, definitionVersion } from "./testing/definition-manifest.ts";

const WATCHES = 50;
const COLUMNS = 20;
const COLLECTION = "/apis/harbour.test/v1/boats";
const as = (kind: string, version = "v1") => `application/json;as=${kind};v=${version};g=meta.k8s.io`;

const boats = defineResource({
  group: "harbour.test",
  version: "v1",
  kind: "Boat",
  plural: "boats",
  namespaced: false,
  columns: Array.from({ length: COLUMNS }, (_, index) => ({
    name: `c${index}`,
    type: "string" as const,
    value: `.spec.a[?(@.x>=${100_000 + index})].y`,
  })),
  selectableFields: [".spec.owner"],
  schema: kindSchema(
    s.object({
      spec: s.object({ owner: s.string(), a: s.list(s.object({ x: s.int64(), y: s.string() })) }),
    }).schema,
  ),
});

/** Fields that are shown besides, such as the last use of keys. */
const shownBoats = vi.fn((object: CachedObject) =>
  object.withContent({ ...object.decode(), shown: true } as KubeObject),
);
const ferries = { ...boats, kind: "Ferry", plural: "ferries", singular: "ferry", present: shownBoats };

const VERSIONS = 8;
/** Each version has a schema of its own. */
const rafts = definitionsFromCrd(
  definitionManifest(
    { group: "harbour.test", kind: "Raft", plural: "rafts" },
    ...Array.from({ length: VERSIONS }, (_, index) => ({
      ...definitionVersion(`v${index + 1}`, {
        type: "object",
        properties: {
          spec: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          [`f${index}`]: { type: "string" },
        },
      }),
      storage: index === 0,
    })),
  ) as any,
);

let served: ServedResources;
let now: number;
let stop: AbortController;
let decoded: MockInstance;
/** Objects that have been parsed in each turn of the event loop. */
let perTurn: number[];
let ends: Promise<void>[];

beforeEach(async () => {
  now = Date.now();
  const runtime = { ...systemRuntime, clock: { ...systemRuntime.clock, now: () => now } };
  served = await serveResources([boats, ferries, ...rafts], runtime);
  stop = new AbortController();
  ends = [];
  perTurn = [];
  let isCounting = false;
  const { decode } = CachedObject.prototype;
  decoded = vi.spyOn(CachedObject.prototype, "decode").mockImplementation(function (this: CachedObject) {
    if (!isCounting) {
      isCounting = true;
      perTurn.push(0);
      setImmediate(() => {
        isCounting = false;
      });
    }
    perTurn[perTurn.length - 1]! += 1;
    return decode.call(this);
  });
});

afterEach(async () => {
  stop.abort();
  await Promise.allSettled(ends);
  vi.restoreAllMocks();
  await served[Symbol.asyncDispose]();
});

const send = async (request: TestRequest) => await served.handler(createTestContext(request));

const spec = (items: number, owner = "ada") => ({
  owner,
  a: Array.from({ length: items }, (_, x) => ({ x, y: `y${x}` })),
});

const create = (name: string, items: number) =>
  send({ method: "POST", url: COLLECTION, body: { metadata: { name }, spec: spec(items) } });

const patch = (name: string, owner: string) =>
  send({
    method: "PATCH",
    url: `${COLLECTION}/${name}`,
    headers: { "content-type": "application/merge-patch+json" },
    body: { spec: { owner } },
  });

type Watch = { readonly lines: any[]; readonly chunks: Uint8Array[]; readonly end: Promise<void> };

async function watch(accept: string, query = "", plural = "boats", version = "v1"): Promise<Watch> {
  const url = `${COLLECTION.replace("v1/boats", `${version}/${plural}`)}?watch=1${query || `&resourceVersion=${served.cache.revision}`}`;
  const { body } = await send({ url, headers: { accept } });
  if (body.type !== "stream") throw new Error("not a stream");
  const watch: Pick<Watch, "lines" | "chunks"> = { lines: [], chunks: [] };
  const write = (chunk: Uint8Array | string): boolean => {
    watch.chunks.push(chunk as Uint8Array);
    for (const line of Buffer.from(chunk).toString().split("\n")) if (line !== "") watch.lines.push(JSON.parse(line));
    return true;
  };
  const end = body.run({ bufferedBytes: 0, write }, stop.signal);
  end.catch(() => {});
  ends.push(end);
  return { ...watch, end };
}

const many = (accept: string, query = ""): Promise<Watch[]> =>
  Promise.all(Array.from({ length: WATCHES }, () => watch(accept, query)));

const received = (watches: readonly Watch[], count: number) =>
  expect.poll(() => watches.every(({ lines }) => lines.length >= count)).toBe(true);

/** Parsing for the write itself is not counted. */
async function rendered(work: () => Promise<unknown>, watches: readonly Watch[], count: number): Promise<number> {
  await nextTurn();
  await work();
  const before = decoded.mock.calls.length;
  await received(watches, count);
  return before;
}

describe("watches of one object with many items", () => {
  beforeEach(async () => {
    await create("large", 3_000);
    await nextTurn();
    decoded.mockClear();
    perTurn.length = 0;
  });

  it.each([
    ["Tables", as("Table"), ""],
    ["Tables of the older version", as("Table", "v1beta1"), ""],
    ["Tables with whole objects", as("Table"), "&includeObject=Object"],
    ["Tables without objects", as("Table"), "&includeObject=None"],
    ["metadata", as("PartialObjectMetadata"), ""],
  ])("render it once for all: %s", async (_, accept, query) => {
    const watches = await many(accept, query === "" ? "" : `${query}&resourceVersion=${served.cache.revision}`);
    await rendered(() => patch("large", "bob"), watches, 1);
    // The write may read the object as well.
    expect(decoded.mock.calls.length).toBeLessThanOrEqual(2);
    expect(new Set(watches.map(({ chunks }) => chunks[0])).size).toBe(1);
    await patch("large", "cem");
    await received(watches, 2);
    expect(decoded.mock.calls.length).toBeLessThanOrEqual(4);
    for (const { lines } of watches) {
      expect(lines.map(({ type }) => type)).toEqual(["MODIFIED", "MODIFIED"]);
      if (lines[0].object.kind === "Table")
        expect(lines.map(({ object }) => object.columnDefinitions === null)).toEqual([false, true]);
    }
  });

  it("render different forms in different turns of the event loop", async () => {
    const forms = ["Metadata", "Object", "None"].flatMap((included) =>
      ["v1", "v1beta1"].map((version) => [as("Table", version), `&includeObject=${included}`] as const),
    );
    const watches = await Promise.all(
      forms.map(([accept, query]) => watch(accept, `${query}&resourceVersion=${served.cache.revision}`)),
    );
    await rendered(() => patch("large", "bob"), watches, 1);
    expect(perTurn.length).toBeGreaterThan(1);
    // The first line goes over the budget of a turn, and one more at most begins in it.
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(4);
  });

  it("get all events in their order, although lines are made in turns", async () => {
    const watches = await many(as("Table"), `&includeObject=Object&resourceVersion=${served.cache.revision}`);
    await Promise.all(["a", "b", "c"].map((name) => create(name, 2_000)));
    await Promise.all(
      Array.from({ length: 12 }, (_, index) => patch(["large", "a", "b", "c"][index % 4]!, `o${index}`)),
    );
    await received(watches, 15);
    for (const { lines } of watches) {
      const revisions = lines.map(({ object }) => Number(object.rows[0].object.metadata.resourceVersion));
      expect(revisions).toEqual(revisions.toSorted((a, b) => a - b));
      expect(lines.filter(({ object }) => object.columnDefinitions !== null)).toHaveLength(1);
    }
    expect(new Set(watches.map(({ lines }) => JSON.stringify(lines))).size).toBe(1);
    expect(Math.max(...perTurn)).toBeLessThan(20);
  });

  it("count ages when lines are made, to the second", async () => {
    const table = as("Table");
    const lines = createEventLines(() => {});
    const object = CachedObject.fromObject("/k", {
      apiVersion: "v1",
      kind: "Boat",
      metadata: { name: "x", resourceVersion: "4" },
    });
    let renders = 0;
    let tick = 0;
    const form = {
      definition: boats,
      id: table,
      tick: () => tick,
      render: () => ({ bytes: Buffer.from(`{"object":${++renders}}`), work: 1, isWhole: true }),
    };
    const send = () => Buffer.from(lines.converted(form, "ADDED", object).bytes).toString();
    expect([send(), send()].map((line) => line.includes('"object":1}'))).toEqual([true, true]);
    tick++;
    expect(send()).toContain('"object":2}');
    // Another budget than the row took.
    expect(lines.converted(form, "ADDED", object, 0).cost).toBeGreaterThan(0);
  });

  it("is left to a later turn where this one has done enough", () => {
    const turns: (() => void)[] = [];
    const lines = createEventLines((begin) => turns.push(begin));
    const [one, other] = ["1", "2"].map((resourceVersion) =>
      CachedObject.fromObject("/k", { apiVersion: "v1", kind: "Boat", metadata: { name: "x", resourceVersion } }),
    );
    const form = {
      definition: boats,
      id: "a",
      tick: () => 0,
      render: () => ({ bytes: Buffer.from("1"), work: 1_000_000, isWhole: true }),
    };
    expect(lines.hasTime(form, "ADDED", one!)).toBe(true);
    lines.converted(form, "ADDED", one!);
    expect([one, other].map((object) => lines.hasTime(form, "ADDED", object!))).toEqual([true, false]);
    expect(turns).toHaveLength(1);
    turns[0]!();
    expect(lines.hasTime(form, "ADDED", other!)).toBe(true);
  });
});

describe("watches in many versions", () => {
  const body = (name: string, items: number) => ({ metadata: { name }, spec: spec(items) });
  const url = COLLECTION.replace("boats", "rafts");
  const inVersions = async (query = "") => {
    const watches: Watch[] = [];
    for (let index = 0; index < 3 * VERSIONS; index++) {
      watches.push(await watch("application/json", query, "rafts", `v${(index % VERSIONS) + 1}`));
    }
    return watches;
  };

  it("bring a long object to each version once, in turns, and keep the order of events", async () => {
    await send({ method: "POST", url, body: body("large", 2_000) });
    const watches = await inVersions();
    perTurn.length = 0;
    decoded.mockClear();
    await send({ method: "POST", url, body: body("other", 2_000) });
    await send({ method: "POST", url, body: body("small", 1) });
    await received(watches, 2);
    expect(decoded.mock.calls.length).toBeLessThan(3 * VERSIONS);
    expect(Math.max(...perTurn)).toBeLessThan(VERSIONS);
    for (const [index, { lines }] of watches.entries()) {
      expect(lines.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
        "ADDED other",
        "ADDED small",
      ]);
      expect(lines.map(({ object }) => object.apiVersion)).toEqual(
        Array(2).fill(`harbour.test/v${(index % VERSIONS) + 1}`),
      );
    }
  });

  it("begin with the state, and go on with what follows it", async () => {
    await send({ method: "POST", url, body: body("large", 2_000) });
    await send({ method: "POST", url, body: body("small", 1) });
    const watches = await inVersions(
      "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    );
    await send({ method: "DELETE", url: `${url}/large` });
    await received(watches, 4);
    for (const { lines } of watches) {
      expect(lines.map(({ type }) => type).toSorted()).toEqual(["ADDED", "ADDED", "BOOKMARK", "DELETED"]);
      expect(lines.findIndex(({ type }) => type === "DELETED")).toBeGreaterThan(
        lines.findIndex(({ object }) => object.metadata.name === "large"),
      );
    }
  });
});

it("long lines are sent in turns, and short ones in any", () => {
  const lines = createEventLines(() => {});
  const [long, short] = [1_000_000, 10].map((length) =>
    CachedObject.fromObject("/k", {
      apiVersion: "v1",
      kind: "Boat",
      metadata: { name: "x".repeat(length), resourceVersion: "4" },
    }),
  );
  let sent = 0;
  for (; lines.hasTime(undefined, "ADDED", long!); sent++) lines.plain("ADDED", long!);
  expect(sent).toBe(9);
  expect(lines.hasTime(undefined, "ADDED", short!)).toBe(true);
});

describe("watches of objects that are shown with more than is stored", () => {
  it("share what is shown", async () => {
    const watches = await Promise.all(
      Array.from({ length: WATCHES }, () => watch("", `&resourceVersion=${served.cache.revision}`, "ferries")),
    );
    await nextTurn();
    shownBoats.mockClear();
    await send({ method: "POST", url: COLLECTION.replace("boats", "ferries"), body: { metadata: { name: "f" } } });
    await received(watches, 1);
    // That of the write itself, and that of its event.
    expect(shownBoats.mock.calls.length).toBeLessThanOrEqual(2);
    expect(watches.every(({ lines }) => lines[0].object.shown)).toBe(true);
    expect(new Set(watches.map(({ chunks }) => chunks[0])).size).toBe(1);
  });
});

describe("watches with a field selector", () => {
  it("read the field of an object once for all, and do not parse the object", async () => {
    const read = vi.spyOn(CachedObject.prototype, "read");
    await create("large", 3_000);
    const watches = await many("", `&fieldSelector=spec.owner%3Dbob&resourceVersion=${served.cache.revision}`);
    await nextTurn();
    read.mockClear();
    await patch("large", "bob");
    await received(watches, 1);
    // The object now, and the one before.
    expect(read.mock.calls.length).toBeLessThanOrEqual(3);
    await patch("large", "ada");
    await received(watches, 2);
    expect(read.mock.calls.length).toBeLessThanOrEqual(6);
    for (const { lines } of watches) expect(lines.map(({ type }) => type)).toEqual(["ADDED", "DELETED"]);
  });
});

describe("watches that begin with large objects", () => {
  it("parse no more of them in a turn than a few", async () => {
    for (let index = 0; index < 24; index++) await create(`b${index}`, 1_500);
    await nextTurn();
    perTurn.length = 0;
    const [one] = await Promise.all([
      watch(
        as("PartialObjectMetadata"),
        "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan",
      ),
    ]);
    await received([one!], 25);
    expect(one!.lines.at(-1).type).toBe("BOOKMARK");
    // In parts of about 64 KiB, of objects with more than half of that each.
    expect(one!.chunks.length).toBeGreaterThan(8);
  });

  it("share the rows of those that begin together, within the budget of each", async () => {
    await create("large", 3_000);
    await nextTurn();
    decoded.mockClear();
    const watches = await many(as("Table"), "&includeObject=Metadata");
    await received(watches, 1);
    // A new second may begin while they do.
    expect(decoded.mock.calls.length).toBeLessThanOrEqual(3);
  });
});

describe("a watch in the form of a list", () => {
  it.each(["v1", "v1beta1"])("ends at its first event, without a frame and without a fault: %s", async (version) => {
    const list = await watch(as("PartialObjectMetadataList", version));
    await create("a", 1);
    await expect(list.end).resolves.toBeUndefined();
    expect(list.lines).toEqual([]);
  });

  it("ends at the state that it begins with", async () => {
    await create("a", 1);
    const list = await watch(as("PartialObjectMetadataList"), "&resourceVersion=0");
    await expect(list.end).resolves.toBeUndefined();
    expect(list.lines).toEqual([]);
  });

  it("ends at a bookmark", async () => {
    const query = "&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan";
    const list = await watch(as("PartialObjectMetadataList"), query);
    await expect(list.end).resolves.toBeUndefined();
    expect(list.lines).toEqual([]);
  });

  it("fails as a fault where the server is to blame", async () => {
    const one = await watch(as("PartialObjectMetadata"));
    decoded.mockImplementation(() => {
      throw new Error("broken");
    });
    await send({ method: "POST", url: COLLECTION, body: { metadata: { name: "a" }, spec: spec(1) } }).catch(() => {});
    await expect(one.end).rejects.toThrow(StreamFault);
  });
});
