// Which objects selectors choose, and how they are refused.

import { beforeAll, expect, test } from "vitest";
import { KEYS, key, parseEvents, useServer, WIDGETS } from "./testing/api.ts";

const api = useServer();
const OBJECTS = [
  ["q-1", { n: "5", tier: "gold" }, { user: "u1" }],
  ["q-2", { n: "10", tier: "" }, { user: "u,2" }],
  ["q-3", { n: "x" }, { user: "u=3" }],
  ["q-4", {}, { user: "u\\4" }],
] as const;

beforeAll(async () => {
  for (const [name, labels, spec] of OBJECTS) {
    await api.post(KEYS, key(name, spec, { labels: { ...labels, area: "q" } }));
  }
});

const list = (labels: string, fields = "") =>
  api.get(
    `${KEYS}?labelSelector=${encodeURIComponent(labels)}${fields === "" ? "" : `&fieldSelector=${encodeURIComponent(fields)}`}`,
  );
const namesBy = async (labels: string, fields = ""): Promise<readonly string[]> =>
  (await list(`area=q${labels === "" ? "" : `,${labels}`}`, fields)).json.items.map((item: any) => item.metadata.name);

test.each([
  ["tier!=gold", ["q-2", "q-3", "q-4"]],
  ["tier notin (gold)", ["q-2", "q-3", "q-4"]],
  ["tier=", ["q-2"]],
  ["tier in ()", ["q-2"]],
  ["tier in (gold,)", ["q-1", "q-2"]],
  ["n>5", ["q-2"]],
  ["n<6", ["q-1"]],
  ["n > 5 , tier", ["q-2"]],
  ["in!=a,notin!=b", ["q-1", "q-2", "q-3", "q-4"]],
  ["!tier", ["q-3", "q-4"]],
  ["tier==gold", ["q-1"]],
])("chooses by %s (Q-02)", async (selector, expected) => {
  expect(await namesBy(selector)).toEqual(expected);
});

test.each([
  ["n>a", "for 'Gt', 'Lt' operators, the value must be an integer"],
  ["n>", "for 'Gt', 'Lt' operators, the value must be an integer"],
])("refuses %s (Q-02)", async (selector, why) => {
  expect((await list(selector)).json).toMatchObject({ code: 400, message: expect.stringContaining(why) });
});

test.each([
  [
    "-bad=a",
    'unable to parse requirement: <nil>: Invalid value: "-bad": name part must consist of alphanumeric characters',
  ],
  [`${"a".repeat(64)}=b`, "name part must be no more than 63"],
  [`${"a".repeat(254)}/b=c`, "prefix part must be no more than 253"],
  [
    "a=-bad-",
    'unable to parse requirement: values[0][a]: Invalid value: "-bad-": a valid label must be an empty string',
  ],
  [`a=${"b".repeat(64)}`, "must be no more than 63"],
  ["a in (b,*)", "a valid label must be an empty string"],
])("refuses %s (Q-04)", async (selector, why) => {
  const { json } = await list(selector);
  expect(json).toMatchObject({ code: 400, reason: "BadRequest", message: expect.stringContaining(why) });
});

test.each([
  ["spec.user=u1", ["q-1"]],
  ["spec.user==u1", ["q-1"]],
  ["spec.user!=u1", ["q-2", "q-3", "q-4"]],
  ["spec.user=u\\,2", ["q-2"]],
  ["spec.user=u\\=3", ["q-3"]],
  ["spec.user=u\\\\4", ["q-4"]],
  ["spec.user=u1,metadata.name=q-2", []],
  ["spec.user!=u1,metadata.name!=q-2", ["q-3", "q-4"]],
  ["", ["q-1", "q-2", "q-3", "q-4"]],
])("chooses by %j (Q-05)", async (selector, expected) => {
  expect(await namesBy("", selector)).toEqual(expected);
});

test.each([
  ["metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"],
  ["metadata.name in (a)", "invalid selector: 'metadata.name in (a)'; can't understand 'metadata.name in (a)'"],
  ["!metadata.name", "invalid selector: '!metadata.name'; can't understand '!metadata.name'"],
  ["metadata.name=a\\b", "invalid field selector: invalid escape sequence: \\b"],
])("refuses %s (Q-05)", async (selector, message) => {
  expect((await list("", selector)).json).toMatchObject({ code: 400, reason: "BadRequest", message });
});

test("selects a namespaced resource by its namespace, and no other (Q-06)", async () => {
  expect((await api.get(`${WIDGETS}?fieldSelector=metadata.namespace%3Ddefault`)).status).toBe(200);
  expect((await list("", "metadata.namespace=default")).json).toMatchObject({
    code: 400,
    message: "field label not supported: metadata.namespace",
  });
});

test("holds objects to both selectors, in lists, watches and deletions (Q-08)", async () => {
  expect(await namesBy("tier", "spec.user=u1")).toEqual(["q-1"]);
  const query = `labelSelector=${encodeURIComponent("area=q,tier")}&fieldSelector=spec.user%3Du1`;
  const watch = await api.watch(`${KEYS}?watch=true&timeoutSeconds=1&${query}`);
  const events = parseEvents((await watch.finished).text.trimEnd().split("\n"));
  expect(events.map(({ object }) => object.metadata.name)).toEqual(["q-1"]);
  const deleted = await api.delete(`${KEYS}?dryRun=All&${query}`);
  expect(deleted.json.items.map((item: any) => item.metadata.name)).toEqual(["q-1"]);
  expect((await api.delete(`${KEYS}?labelSelector=%3D`)).status).toBe(400);
});

test.each([
  ["labelSelector=%3D&fieldSelector=x", "found '=', expected: !, identifier, or 'end of string'"],
  ["labelSelector=%3D&resourceVersionMatch=Bogus", "found '=', expected: !, identifier, or 'end of string'"],
  ["fieldSelector=x&resourceVersionMatch=Bogus", "invalid selector: 'x'; can't understand 'x'"],
  ["labelSelector=%3D&limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'],
])("reports parse errors first: %s (Q-03)", async (query, message) => {
  expect((await api.get(`${KEYS}?${query}`)).json).toMatchObject({ code: 400, message });
});

test("reports invalid options before an unknown field (Q-06)", async () => {
  const { json } = await api.get(`${KEYS}?fieldSelector=bogus%3D1&resourceVersionMatch=Exact`);
  expect(json).toMatchObject({ code: 422, reason: "Invalid" });
});

test("events are selected by their reporter, in either of its two fields (Q-06)", async () => {
  const event = (name: string, reporter: object) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name },
    involvedObject: { namespace: "default", name: "x" },
    ...reporter,
  });
  const path = "/api/v1/namespaces/default/events";
  for (const [name, reporter] of [
    ["by-source", { source: { component: "q-reporter" }, reportingComponent: "q-other" }],
    ["by-component", { reportingComponent: "q-reporter" }],
    ["by-nobody", {}],
  ] as const) {
    expect((await api.post(path, event(name, reporter))).status).toBe(201);
  }
  const found = (await api.get(`${path}?fieldSelector=source%3Dq-reporter`)).json.items;
  expect(found.map(({ metadata }: any) => metadata.name).sort()).toEqual(["by-component", "by-source"]);
});
