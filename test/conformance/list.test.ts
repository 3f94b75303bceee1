// Lists: pages of one snapshot, how fresh they are, and what they select.

import { expect, test } from "vitest";
import { API, KEYS, key, MERGE_PATCH, useServer, WIDGETS, widget } from "./testing/api.ts";

const api = useServer();
type Listed = { readonly metadata: { readonly name: string } };
const namesOf = (json: { readonly items: readonly Listed[] }) => json.items.map(({ metadata }) => metadata.name);

/** Makes objects that a case can tell from those of others by a label. */
async function create(label: string, count: number): Promise<string> {
  for (let n = 0; n < count; n++)
    await api.post(KEYS, key(`${label}-${n}`, { user: label }, { labels: { case: label } }));
  return `${KEYS}?labelSelector=case%3D${label}`;
}

test("is a list of its kind with a version, also when it is empty (L-01)", async () => {
  const { json } = await api.get(`${API}/namespaces/other/widgets`);
  expect(json).toMatchObject({ kind: "WidgetList", apiVersion: "management.example.com/v1", items: [] });
  expect(json.metadata.resourceVersion).toMatch(/^\d+$/);
});

test("orders by namespace, then by name (L-01)", async () => {
  for (const [namespace, name] of [
    ["other", "a"],
    ["default", "b"],
    ["default", "a"],
  ]) {
    await api.post(`${API}/namespaces/${namespace}/widgets`, widget(`l01-${name}`));
  }
  const { items } = (await api.get(`${API}/widgets`)).json;
  const places = items.map(
    ({ metadata }: { metadata: { namespace: string; name: string } }) => `${metadata.namespace}/${metadata.name}`,
  );
  expect(places).toEqual(["default/l01-a", "default/l01-b", "other/l01-a"]);
});

test("says how many remain, unless a selector leaves objects out (L-02)", async () => {
  for (const name of ["a", "b", "c"]) await api.post(WIDGETS, widget(`l02-${name}`));
  const page = (await api.get(`${WIDGETS}?limit=1`)).json.metadata;
  expect(page).toMatchObject({ continue: expect.stringMatching(/^[\w-]+$/), remainingItemCount: expect.any(Number) });
  await api.post(WIDGETS, widget("l02-x", { size: 1 }, { labels: { l02: "x" } }));
  const selected = (await api.get(`${WIDGETS}?limit=1&labelSelector=!l02`)).json.metadata;
  expect(selected).not.toHaveProperty("remainingItemCount");
});

test("continues after a full page while objects follow, selected or not (L-02)", async () => {
  const path = await create("l02-page", 2);
  await api.post(KEYS, key("l02-page-z"));
  const first = (await api.get(`${path}&limit=2`)).json;
  expect(namesOf(first)).toEqual(["l02-page-0", "l02-page-1"]);
  const last = (await api.get(`${path}&limit=2&continue=${first.metadata.continue}`)).json;
  expect({ names: namesOf(last), token: last.metadata.continue }).toEqual({ names: [], token: undefined });
});

test("has one page for the one object that a name selects (L-02)", async () => {
  await create("l02-one", 2);
  const { json } = await api.get(`${KEYS}?limit=1&fieldSelector=metadata.name%3Dl02-one-0`);
  expect({ names: namesOf(json), token: json.metadata.continue }).toEqual({ names: ["l02-one-0"], token: undefined });
  const filtered = await api.get(`${KEYS}?fieldSelector=metadata.name%3Dl02-one-0&labelSelector=!case`);
  expect(namesOf(filtered.json)).toEqual([]);
});

test("pages through a consistent snapshot (L-03)", async () => {
  const path = await create("l03", 4);
  const first = (await api.get(`${path}&limit=2`)).json;
  await api.patch(`${KEYS}/l03-3`, MERGE_PATCH, { metadata: { labels: { changed: "yes" } } });
  await api.post(KEYS, key("l03-2b", {}, { labels: { case: "l03" } }));
  const second = (await api.get(`${path}&limit=2&continue=${first.metadata.continue}`)).json;
  expect(namesOf(second)).toEqual(["l03-2", "l03-3"]);
  expect(second.items[1].metadata.labels).toEqual({ case: "l03" });
  expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
});

test("refuses a version beside a continue token, and a token that is none (L-04)", async () => {
  const path = await create("l04", 2);
  const token = (await api.get(`${path}&limit=1`)).json.metadata.continue;
  expect((await api.get(`${path}&continue=${token}&resourceVersion=5`)).json).toMatchObject({
    code: 400,
    message: "specifying resource version is not allowed when using continue",
  });
  for (const query of ["continue=!!!", "continue=!!!&resourceVersion=5"]) {
    expect((await api.get(`${path}&${query}`)).json.message).toMatch(
      /^invalid continue token: continue key is not valid: /,
    );
  }
});

test.each([-1, -2])("continues with the current state after a token of version %i (L-05)", async (rv) => {
  const path = await create(`l05${rv}`, 2);
  const token = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv, start: `l05${rv}-0\0` })).toString("base64url");
  expect(namesOf((await api.get(`${path}&continue=${token}`)).json)).toEqual([`l05${rv}-1`]);
});

test("answers 410 to a token of an expired snapshot, with a token to continue without it (L-05)", async () => {
  const path = await create("l05", 3);
  const token = (await api.get(`${path}&limit=1`)).json.metadata.continue;
  await api.server.compact();
  const { json } = await api.get(`${path}&limit=1&continue=${token}`);
  expect(json).toMatchObject({ code: 410, reason: "Expired" });
  expect(json.message).toMatch(/^The provided continue parameter is too old to display a consistent list result\./);
  expect(namesOf((await api.get(`${path}&continue=${json.metadata.continue}`)).json)).toEqual(["l05-1", "l05-2"]);
});

test("shows exactly a version, at least a version, or the current state (L-06)", async () => {
  const path = await create("l06", 1);
  const { resourceVersion } = (await api.get(path)).json.metadata;
  await api.post(KEYS, key("l06-later", {}, { labels: { case: "l06" } }));
  const list = async (query: string) => namesOf((await api.get(`${path}&resourceVersion=${query}`)).json);
  expect(await list(`${resourceVersion}&resourceVersionMatch=Exact`)).toEqual(["l06-0"]);
  expect(await list(`${resourceVersion}&limit=5`)).toEqual(["l06-0"]);
  expect(await list(resourceVersion)).toEqual(["l06-0", "l06-later"]);
  expect(await list("0&resourceVersionMatch=NotOlderThan")).toEqual(["l06-0", "l06-later"]);
  expect(await list("0&limit=1")).toEqual(["l06-0", "l06-later"]);
});

test("answers 410 for an exact version that is gone (L-06)", async () => {
  expect((await api.get(`${KEYS}?resourceVersion=1&resourceVersionMatch=Exact`)).json).toMatchObject({
    code: 410,
    reason: "Expired",
    message: "The resourceVersion for the provided list is too old.",
  });
});

test("answers 504 for a version that does not come, and says when to try again (E-19)", async () => {
  const { json, headers } = await api.get(`${KEYS}?resourceVersion=999999999`);
  expect(json).toMatchObject({
    code: 504,
    reason: "Timeout",
    message: expect.stringMatching(/^Timeout: Too large resource version: 999999999, current: \d+$/),
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
      retryAfterSeconds: 1,
    },
  });
  expect(headers["retry-after"]).toBe("1");
});

test.each([
  [
    "resourceVersionMatch=Exact",
    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
  ],
  [
    "resourceVersion=0&resourceVersionMatch=Exact",
    'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
  ],
  [
    "resourceVersion=1&resourceVersionMatch=Bogus",
    'resourceVersionMatch: Unsupported value: "Bogus": supported values: "Exact", "NotOlderThan", ""',
  ],
  ["sendInitialEvents=true", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
])("refuses %s (L-07)", async (query, text) => {
  expect((await api.get(`${KEYS}?${query}`)).json).toMatchObject({
    code: 422,
    message: `ListOptions.meta.k8s.io "" is invalid: ${text}`,
  });
});

test("sees every write that was acknowledged before (L-09)", async () => {
  const { metadata } = (await api.post(KEYS, key("l09"))).json;
  const { json } = await api.get(KEYS);
  expect(namesOf(json)).toContain("l09");
  expect(Number(json.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(metadata.resourceVersion));
});

test("is empty in a namespace that is not there (L-10)", async () => {
  expect((await api.get(`${API}/namespaces/nowhere/widgets`)).json.items).toEqual([]);
});

test("says what is wrong with a token (L-04)", async () => {
  const messageFor = async (token: string | object): Promise<string> => {
    const text = typeof token === "string" ? token : Buffer.from(JSON.stringify(token)).toString("base64url");
    return (await api.get(`${KEYS}?continue=${encodeURIComponent(text)}`)).json.message;
  };
  const prefix = "invalid continue token: continue key is not valid: ";
  const v = "meta.k8s.io/v1";
  expect(await messageFor("bogus")).toBe(`${prefix}illegal base64 data at input byte 4`);
  expect(await messageFor("abc=")).toBe(`${prefix}illegal base64 data at input byte 3`);
  expect(await messageFor("e30")).toBe(`${prefix}server does not recognize this encoded version `);
  expect(await messageFor([])).toBe(
    `${prefix}json: cannot unmarshal array into Go value of type storage.continueToken`,
  );
  expect(await messageFor({ v, rv: "5", start: "a" })).toBe(
    `${prefix}json: cannot unmarshal string into Go struct field continueToken.rv of type int64`,
  );
  expect(await messageFor({ v: "meta.k8s.io/v2", rv: 5, start: "a" })).toBe(
    `${prefix}server does not recognize this encoded version meta.k8s.io/v2`,
  );
  expect(await messageFor({ v, rv: 0, start: "a" })).toBe(
    `${prefix}incorrect encoded start resourceVersion (version ${v})`,
  );
  expect(await messageFor({ v, rv: 5, start: "" })).toBe(`${prefix}encoded start key empty (version ${v})`);
  for (const start of ["../x", "a//b", "a/./b", "a/"])
    expect(await messageFor({ v, rv: 5, start })).toBe(prefix + start);
});

test("refuses a version that is no number as a bad request, however it is to match (L-08)", async () => {
  for (const query of ["limit=1", "resourceVersionMatch=Exact", "resourceVersionMatch=NotOlderThan", ""].map(
    (more) => `resourceVersion=abc&${more}`,
  )) {
    expect((await api.get(`${KEYS}?${query}`)).json, query).toMatchObject({
      code: 400,
      reason: "BadRequest",
      message:
        'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    });
  }
});

test("returns versions that never go back, and from which a watch misses nothing (L-12)", async () => {
  const path = await create("l12", 1);
  let last = 0;
  const seen = new Set<string>();
  const { resourceVersion } = (await api.get(path)).json.metadata;
  const watch = await api.watch(`${path}&watch=true&resourceVersion=${resourceVersion}`);
  for (let n = 0; n < 20; n++) {
    await api.post(KEYS, key(`l12-later-${n}`, {}, { labels: { case: "l12" } }));
    const version = Number((await api.get(`${path}&resourceVersion=0`)).json.metadata.resourceVersion);
    expect(version).toBeGreaterThanOrEqual(last);
    last = version;
  }
  for (const line of await watch.lines(20)) seen.add(JSON.parse(line).object.metadata.name);
  watch.close();
  expect(seen.size).toBe(20);
});

test("takes timeoutSeconds (L-13)", async () => {
  for (const value of ["1", "0", "-1"]) expect((await api.get(`${KEYS}?timeoutSeconds=${value}`)).status).toBe(200);
});

test("reads one object at a version or after it, and no selector (L-11)", async () => {
  await api.post(KEYS, key("l11"));
  expect((await api.get(`${KEYS}/l11?resourceVersion=0`)).status).toBe(200);
  expect((await api.get(`${KEYS}/l11?resourceVersionMatch=Bogus&labelSelector=%3D%3D`)).status).toBe(200);
});

test.each([
  ["q=a", ["q-0"]],
  ["q==a", ["q-0"]],
  ["q!=a", ["q-1", "q-2"]],
  ["q in (a,b)", ["q-0", "q-1"]],
  ["q notin (a)", ["q-1", "q-2"]],
  ["q", ["q-0", "q-1"]],
  ["!q", ["q-2"]],
  ["q>1", []],
])("selects by %s (Q-01)", async (selector, expected) => {
  for (const [name, labels] of [
    ["q-0", { q: "a" }],
    ["q-1", { q: "b" }],
    ["q-2", {}],
  ] as const) {
    await api.post(KEYS, key(name, {}, { labels: { ...labels, q0: "yes" } }));
  }
  const { json } = await api.get(`${KEYS}?labelSelector=${encodeURIComponent(`q0=yes,${selector}`)}`);
  expect(namesOf(json)).toEqual(expected);
});

test.each([
  [",", "found ',', expected: !, identifier, or 'end of string'"],
  ["a===b", "unable to parse requirement: found '=', expected: identifier"],
])("answers 400 with the words of the parser: %s (Q-03)", async (selector, message) => {
  expect((await api.get(`${KEYS}?labelSelector=${encodeURIComponent(selector)}`)).json).toMatchObject({
    code: 400,
    message,
  });
});

test("selects by name, namespace and declared fields, and by no other (Q-06)", async () => {
  await create("q06", 1);
  const list = (selector: string) => api.get(`${KEYS}?fieldSelector=${encodeURIComponent(selector)}`);
  expect(namesOf((await list("metadata.name=q06-0")).json)).toEqual(["q06-0"]);
  expect(namesOf((await list("spec.user=q06,metadata.name!=x")).json)).toEqual(["q06-0"]);
  expect((await list("spec.ttl=1")).json).toMatchObject({ code: 400, message: "field label not supported: spec.ttl" });
  expect((await list("metadata.name")).json.message).toBe(
    "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
  );
});

test("compares an absent field as empty (Q-07)", async () => {
  await create("q07", 1);
  const { json } = await api.get(`${KEYS}?fieldSelector=${encodeURIComponent("spec.team=,metadata.name=q07-0")}`);
  expect(namesOf(json)).toEqual(["q07-0"]);
});

test("leaves the type of items to the list of a built-in kind, and to no other (L-14)", async () => {
  const maps = "/api/v1/namespaces/default/configmaps";
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "l14", labels: { l14: "" } },
    data: { a: "b" },
  };
  const { metadata } = (await api.post(maps, object)).json;
  const query = `${maps}?labelSelector=l14`;
  expect((await api.get(query)).json).toEqual({
    kind: "ConfigMapList",
    apiVersion: "v1",
    metadata: { resourceVersion: expect.any(String) },
    items: [{ metadata, data: { a: "b" } }],
  });
  expect((await api.get(`${query}&pretty=1`)).json.items).toEqual([{ metadata, data: { a: "b" } }]);
  const yaml = await api.get(query, { headers: { Accept: "application/yaml" } });
  expect(yaml.text).toContain("items:\n- data:\n    a: b\n  metadata:\n");
  const partial = { headers: { Accept: "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io" } };
  expect((await api.get(query, partial)).json.items).toMatchObject([{ kind: "PartialObjectMetadata" }]);
  await create("l14", 1);
  expect((await api.get(`${KEYS}?labelSelector=case%3Dl14`)).json.items).toMatchObject([{ kind: "OwnedAccessKey" }]);
});
