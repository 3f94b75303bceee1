// Watches: where they begin, what a selection sees of a change, bookmarks, and how they end.

import { describe, expect, test } from "vitest";
import { API, KEYS, key, MERGE_PATCH, parseEvents, TABLE, useServer } from "./testing/api.ts";

const api = useServer();
const create = async (name: string, meta = {}) => (await api.post(KEYS, key(name, { user: "u" }, meta))).json;
const label = (name: string, labels: { readonly [name: string]: string | null }) =>
  api.patch(`${KEYS}/${name}`, MERGE_PATCH, { metadata: { labels } });
const currentVersion = async (): Promise<string> => (await api.get(`${KEYS}?limit=1`)).json.metadata.resourceVersion;
const typesOf = (lines: readonly string[]) => parseEvents(lines).map(({ type }) => type);

test("begins at once, with the headers of a stream of JSON (W-01)", async () => {
  const watch = await api.watch(`${KEYS}?watch=true&resourceVersion=${await currentVersion()}`);
  expect(watch.status).toBe(200);
  watch.close();
});

test("begins with what there is, in the order of names, when no version is given (W-02)", async () => {
  for (const name of ["w02-b", "w02-a"]) await create(name, { labels: { case: "w02" } });
  const watch = await api.watch(`${KEYS}?watch=true&labelSelector=case%3Dw02`);
  const events = parseEvents(await watch.lines(2));
  expect(events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual(["ADDED w02-a", "ADDED w02-b"]);
  watch.close();
});

test("replays what happened after a version, without gap or repetition (W-02)", async () => {
  const { metadata } = await create("w02");
  await label("w02", { n: "1" });
  const watch = await api.watch(
    `${KEYS}?watch=true&resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dw02`,
  );
  await label("w02", { n: "2" });
  const events = parseEvents(await watch.lines(2));
  expect(events.map(({ type, object }) => `${type} ${object.metadata.labels.n}`)).toEqual(["MODIFIED 1", "MODIFIED 2"]);
  watch.close();
});

test("reports a version that is too old inside the stream, and ends (W-03)", async () => {
  const watch = await api.watch(`${KEYS}?watch=true&resourceVersion=1`);
  expect(watch.status).toBe(200);
  const { text } = await watch.finished;
  expect(JSON.parse(text)).toMatchObject({
    type: "ERROR",
    object: {
      kind: "Status",
      code: 410,
      reason: "Expired",
      message: expect.stringMatching(/^too old resource version: 1 \(\d+\)$/),
    },
  });
});

test("is silent until a version of the future, and answers 500 to what is no version (W-04)", async () => {
  const answer = await (await api.watch(`${KEYS}?watch=true&resourceVersion=999999&timeoutSeconds=1`)).finished;
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: "" });
  expect((await api.get(`${KEYS}?watch=true&resourceVersion=abc`)).status).toBe(500);
});

test("shows the last state of what was deleted, under the version of the deletion (W-05)", async () => {
  const { metadata } = await create("w05", { labels: { a: "b" } });
  const watch = await api.watch(`${KEYS}?watch=true&resourceVersion=${metadata.resourceVersion}`);
  await api.delete(`${KEYS}/w05`);
  const [{ type, object }] = parseEvents(await watch.lines(1));
  expect({ type, labels: object.metadata.labels }).toEqual({ type: "DELETED", labels: { a: "b" } });
  expect(Number(object.metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion));
  watch.close();
});

test.each(["live", "replayed"])(
  "shows entering and leaving a selection as ADDED and DELETED: %s (W-06)",
  async (how) => {
    const name = `w06-${how}`;
    const { metadata } = await create(name);
    const path = `${KEYS}?watch=true&labelSelector=w06%3D${how}&resourceVersion=${metadata.resourceVersion}`;
    const change = async () => {
      for (const labels of [{ w06: how }, { x: "1" }, { w06: "no" }, { x: "2" }, { w06: how }])
        await label(name, labels);
    };
    if (how === "replayed") await change();
    const watch = await api.watch(path);
    if (how === "live") await change();
    const events = parseEvents(await watch.lines(4));
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED", "ADDED"]);
    expect(events[2].object.metadata.labels).toEqual({ w06: how, x: "1" });
    watch.close();
  },
);

test("watches one object by its name (W-07)", async () => {
  const resourceVersion = await currentVersion();
  const watch = await api.watch(
    `${KEYS}?watch=true&resourceVersion=${resourceVersion}&fieldSelector=metadata.name%3Dw07`,
  );
  await create("w07-other");
  await create("w07");
  expect(parseEvents(await watch.lines(1))[0].object.metadata.name).toBe("w07");
  watch.close();
});

test("ends cleanly when the time is up (W-08)", async () => {
  const answer = await (
    await api.watch(`${KEYS}?watch=true&timeoutSeconds=1&resourceVersion=${await currentVersion()}`)
  ).finished;
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: "" });
});

test("ends at once with a negative timeout (W-08)", async () => {
  await create("w08");
  const answer = await (await api.watch(`${KEYS}?watch=true&timeoutSeconds=-1`)).finished;
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: "" });
});

test("sends a bookmark two seconds before the end, and none when there is no time for it (W-09)", async () => {
  const resourceVersion = await currentVersion();
  await create("w09");
  const path = `${KEYS}?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnobody&resourceVersion=${resourceVersion}&timeoutSeconds=`;
  const [long, short] = await Promise.all(
    [3, 1].map(async (seconds) => (await api.watch(`${path}${seconds}`)).finished),
  );
  const { type, object } = JSON.parse(long?.text ?? "");
  expect({ type, object }).toEqual({
    type: "BOOKMARK",
    object: {
      kind: "OwnedAccessKey",
      apiVersion: "management.example.com/v1",
      metadata: { resourceVersion: expect.any(String) },
    },
  });
  expect(Number(object.metadata.resourceVersion)).toBeGreaterThan(Number(resourceVersion));
  expect(short?.text).toBe("");
});

test("sends no bookmark for where the watch began, but for the one behind the initial state (W-09)", async () => {
  await create("w09-quiet");
  const path = `${KEYS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=3&fieldSelector=metadata.name%3Dw09-quiet`;
  const [quiet, whole] = await Promise.all(
    [`${path}&resourceVersion=${await currentVersion()}`, path].map(async (at) => (await api.watch(at)).finished),
  );
  expect(quiet?.text).toBe("");
  const events = (whole?.text ?? "").trimEnd().split("\n");
  expect(typesOf(events)).toEqual(["ADDED", "BOOKMARK"]);
});

test("streams a list, and marks its end by a bookmark (W-10)", async () => {
  await create("w10");
  const watch = await api.watch(
    `${KEYS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dw10`,
  );
  const events = parseEvents(await watch.lines(2));
  expect(events.map(({ type }) => type)).toEqual(["ADDED", "BOOKMARK"]);
  expect(events[1].object.metadata.annotations).toEqual({ "k8s.io/initial-events-end": "true" });
  watch.close();
});

test.each([
  ["sendInitialEvents=true", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
  [
    "resourceVersionMatch=NotOlderThan",
    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
  ],
  ["continue=abc", "resourceVersionMatch is forbidden when continue is provided"],
])("refuses %s (W-11)", async (query, text) => {
  const { json } = await api.get(`${KEYS}?watch=true&${query}`);
  expect(json).toMatchObject({
    code: 422,
    message: `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: ${text}`,
  });
});

test("reports inside the stream that the initial state failed (W-12)", async () => {
  const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=999999999";
  const { text } = await (await api.watch(`${KEYS}?watch=true&${query}`)).finished;
  expect(JSON.parse(text)).toMatchObject({ type: "ERROR", object: { code: 504, reason: "Timeout" } });
});

test("sends Tables of one row, with columns in the first only (W-13)", async () => {
  for (const name of ["w13-a", "w13-b"]) await create(name, { labels: { case: "w13" } });
  const watch = await api.watch(`${KEYS}?watch=true&labelSelector=case%3Dw13`, { headers: { Accept: TABLE } });
  const events = parseEvents(await watch.lines(2));
  expect(events.map(({ object }) => [object.kind, object.rows.length, object.columnDefinitions?.[0].name])).toEqual([
    ["Table", 1, "Name"],
    ["Table", 1, undefined],
  ]);
  watch.close();
  const accepted = "only the following media types are accepted:";
  const message = `${accepted} application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch`;
  const accepting = (type: string) => api.get(`${KEYS}?watch=true`, { headers: { Accept: type } });
  // Upstream looks for the form of an object first, then reads the options, and looks for that of a stream last.
  expect((await accepting("text/html")).json).toMatchObject({
    code: 406,
    message: `${accepted} application/json, application/yaml, application/vnd.kubernetes.protobuf`,
  });
  const faulty = await api.get(`${KEYS}?watch=true&labelSelector=a+b`, { headers: { Accept: "application/yaml" } });
  expect(faulty.status).toBe(400);
  // The refusal itself can be written in what was asked for.
  const inYaml = await accepting("application/yaml");
  expect({ status: inYaml.status, type: inYaml.headers["content-type"] }).toEqual({
    status: 406,
    type: "application/yaml",
  });
  expect(inYaml.text).toContain(`message: '${message}'`);
});

test("sends every write once and in order, and no dry run (W-15)", async () => {
  const { metadata } = await create("w15");
  const watch = await api.watch(
    `${KEYS}?watch=true&resourceVersion=${metadata.resourceVersion}&fieldSelector=metadata.name%3Dw15`,
  );
  await api.patch(`${KEYS}/w15?dryRun=All`, MERGE_PATCH, { metadata: { labels: { dry: "run" } } });
  for (let n = 0; n < 5; n++) await label("w15", { n: String(n) });
  const events = parseEvents(await watch.lines(5));
  expect(events.map(({ object }) => object.metadata.labels)).toEqual(["0", "1", "2", "3", "4"].map((n) => ({ n })));
  const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
  expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  watch.close();
});

test("watches under the older paths too (R-12)", async () => {
  await create("r12");
  const watch = await api.watch("/apis/management.example.com/v1/watch/ownedaccesskeys/r12");
  expect(typesOf(await watch.lines(1))).toEqual(["ADDED"]);
  watch.close();
});

test.each(["metadata.name%3Dother", "metadata.name!%3Dnobody", "spec.user%3Du"])(
  "shows nothing but the object that the older path names: %s (R-12)",
  async (fieldSelector) => {
    const path = `${API}/watch/ownedaccesskeys/r12-one?timeoutSeconds=1&fieldSelector=`;
    expect((await api.get(`${path}${fieldSelector}`)).json).toMatchObject({
      code: 400,
      reason: "BadRequest",
      message: "fieldSelector metadata.name doesn't match requested name",
    });
    expect((await api.get(`${path}metadata.name%3Dr12-one`)).status).toBe(200);
  },
);

/** Real: 200, no frame, and the end of the stream with the first event; a stream without an event lasts until its time is up. */
describe("a watch in a form of lists", () => {
  const LIST_FORMS = [
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io",
    "application/json;stream=watch;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  ];
  test.each(LIST_FORMS)("ends without a frame: %s", async (accept) => {
    await create("list-form").catch(() => undefined);
    for (const path of [
      `${KEYS}?watch=true`,
      `${KEYS}?watch=true&resourceVersion=0`,
      `${KEYS}?watch=true&fieldSelector=metadata.name%3Dlist-form`,
      `${KEYS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    ]) {
      const { status, text } = await (await api.watch(path, { headers: { Accept: accept } })).finished;
      expect({ path, status, text }).toEqual({ path, status: 200, text: "" });
    }
    // The error that ends such a watch gives back its place in flow control: a few hundred would shut their user out.
    const { text } = await api.get("/metrics");
    expect(text).toMatch(/^apiserver_current_inflight_requests\{request_kind="readOnly"\} [01]$/m);
    expect(text).toMatch(/^apiserver_current_inflight_requests\{request_kind="urgent"\} [01]$/m);
    expect((await api.get(KEYS)).status).toBe(200);
  });

  test("ends without a frame when something happens later", async () => {
    const [accept = ""] = LIST_FORMS;
    const watch = await api.watch(`${KEYS}?watch=true&resourceVersion=${await currentVersion()}`, {
      headers: { Accept: accept },
    });
    await create("list-form-later");
    const { status, text } = await watch.finished;
    expect({ status, text }).toEqual({ status: 200, text: "" });
    expect((await api.get(`${KEYS}/list-form-later`)).status).toBe(200);
  });

  test("tells of a version that is too old as always", async () => {
    const [accept = ""] = LIST_FORMS;
    const { text } = await (await api.watch(`${KEYS}?watch=true&resourceVersion=1`, { headers: { Accept: accept } }))
      .finished;
    expect(JSON.parse(text)).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  test.each([
    "application/yaml",
    "application/cbor",
    "application/vnd.kubernetes.protobuf",
    "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v9;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=elsewhere.example.com",
    "application/json;as=TableList;v=v1;g=meta.k8s.io",
    "application/json;as=;v=v1;g=meta.k8s.io",
  ])("is refused with 406 where nothing else is accepted: %s", async (accept) => {
    expect((await api.get(`${KEYS}?watch=true`, { headers: { Accept: accept } })).status).toBe(406);
  });

  test("follows the next form that can be written", async () => {
    const accept = "application/json;as=Bogus;v=v1;g=meta.k8s.io, application/json";
    await create("list-form-next");
    const watch = await api.watch(`${KEYS}?watch=true&fieldSelector=metadata.name%3Dlist-form-next`, {
      headers: { Accept: accept },
    });
    expect(typesOf(await watch.lines(1))).toEqual(["ADDED"]);
    watch.close();
  });
});
