// Bodies made so that careless work on them takes quadratic time. The kernel counts the work of the server's own thread for each, so that a busy
// machine decides nothing. All fields of all kinds: ATTACK_FIELDS=100000.

import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { API, type AttackedServer, KEYS, startAttackedServer } from "./testing/attacked-server.ts";
import { costOf, superlinearity } from "./testing/processor-time.ts";
import { type FieldAttack, fieldAttacks, hostileText } from "./testing/schema-attacks.ts";

const SIZE = 100_000;
/** For a body of that size. Quadratic work took seconds. */
const AT_MOST_MS = 1_000;
const seed = Number(process.env["TEST_SEED"]);
const fields = Number(process.env["ATTACK_FIELDS"] ?? 20);

let server: AttackedServer;
beforeAll(async () => {
  server = await startAttackedServer();
  const made = await server.send(SECRETS, {
    key: server.admin,
    body: { metadata: { name: "attack" }, data: { a: "YQ==" } },
  });
  if (made.status !== 201) throw new Error(made.text);
});
afterAll(() => server[Symbol.asyncDispose]());

const SECRETS = "/api/v1/namespaces/default/secrets";
const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const APPLY = "application/apply-patch+yaml";

async function post(path: string, body: object | string, method = "POST", type = "application/json") {
  const query = path.includes("?") ? "&dryRun=All" : "?dryRun=All";
  const headers = { "content-type": type };
  return await costOf(server.process.pid, () =>
    server.send(`${path}${query}`, { key: server.admin, method, body, headers }),
  );
}

const texts = (count: number): string[] => Array.from({ length: count }, (_, at) => `name-${at}`);

describe("one request of a hundred kilobytes (security book 46, 50)", () => {
  const key = (spec: object) => ({ metadata: { name: "attack" }, spec: { user: "good", ...spec } });
  const role = (rule: object) => ({ metadata: { name: "attack" }, rules: [{ verbs: ["get"], ...rule }] });
  const ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

  it.each<[what: string, path: string, body: (size: number) => object]>([
    ["dots in a description", KEYS, (size) => key({ description: `${".".repeat(size)}x` })],
    ["stars in a path of a role", ROLES, (size) => role({ nonResourceURLs: [`/${"*".repeat(size)}x*`] })],
    ["many paths in a role", ROLES, (size) => role({ nonResourceURLs: texts(size / 10).map((name) => `/${name}*`) })],
    [
      "empty rules in a role",
      ROLES,
      (size) => ({ metadata: { name: "a" }, rules: Array(Math.floor(size / 3)).fill({}) }),
    ],
    [
      "four lists in a rule, which multiply",
      ROLES,
      (size) => {
        const list = texts(size / 40);
        return role({ verbs: list, apiGroups: list, resources: list, resourceNames: list });
      },
    ],
    [
      "resources in a rule of a key",
      KEYS,
      (size) => key({ rules: [{ resources: [{ resources: texts(size / 10) }] }] }),
    ],
    [
      "projects in a scope",
      KEYS,
      (size) => key({ scope: { projects: texts(size / 20).map((project) => ({ project })) } }),
    ],
    [
      "wrong roles in a scope",
      KEYS,
      (size) => key({ scope: { roles: texts(size / 20).map((name) => ({ role: name })) } }),
    ],
    ["JSON in JSON in a description", KEYS, (size) => key({ description: nested("x".repeat(size / 8), 12) })],
    ["members without a meaning", KEYS, (size) => key(Object.fromEntries(texts(size / 12).map((name) => [name, 1])))],
    [
      "finalizers",
      KEYS,
      (size) => ({ ...key({}), metadata: { name: "a", finalizers: texts(size / 10).map((n) => `a.b/${n}`) } }),
    ],
    ["a name", KEYS, (size) => ({ ...key({}), metadata: { name: hostileText(size) } })],
    [
      "labels",
      KEYS,
      (size) => ({ ...key({}), metadata: { name: "a", labels: { [hostileText(size / 2)]: hostileText(size / 2) } } }),
    ],
  ])("with %s costs little", async (_what, path, body) => {
    await post(path, body(1_000));
    const { ms, value } = await post(path, body(SIZE));
    expect(value.status).toBeLessThan(500);
    expect(ms).toBeLessThan(AT_MOST_MS);
    const cost = async (size: number) => (await post(path, body(size))).ms;
    expect(await superlinearity(cost, SIZE)).toBeUndefined();
  });

  it.each<[what: string, type: string, body: (size: number) => object | string]>([
    ["a JSON patch", JSON_PATCH, (size) => [{ op: "test", path: `/${"a/".repeat(size / 2)}`, value: 1 }]],
    ["a JSON patch with escapes", JSON_PATCH, (size) => [{ op: "add", path: `/${"~1".repeat(size / 2)}`, value: 1 }]],
    [
      "a merge patch",
      MERGE_PATCH,
      (size) => ({ metadata: { annotations: Object.fromEntries(texts(size / 12).map((name) => [name, null])) } }),
    ],
    [
      "an apply of lists",
      APPLY,
      (size) => ({ apiVersion: "v1", kind: "Secret", metadata: { name: "attack", finalizers: texts(size / 10) } }),
    ],
    ["YAML with dashes", APPLY, (size) => `a: ${"- ".repeat(Math.min(size, 900))}x`],
    ["YAML with lines", APPLY, (size) => `apiVersion: v1\nkind: Secret\ndata:\n  ${"\n ".repeat(size / 2)}x\nb`],
    ["YAML with quotes", APPLY, (size) => `a: "${"\\n".repeat(size / 2)}`],
    [
      "YAML with anchors",
      APPLY,
      (size) => Array.from({ length: size / 12 }, (_, at) => `a${at}: &b${at} 1`).join("\n"),
    ],
  ])("as %s costs little", async (_what, type, body) => {
    const path = `${SECRETS}/attack?fieldManager=a`;
    const text = (size: number) => {
      const made = body(size);
      return typeof made === "string" ? made : JSON.stringify(made);
    };
    await post(path, text(1_000), "PATCH", type);
    const { ms, value } = await post(path, text(SIZE), "PATCH", type);
    expect(value.status).toBeLessThan(500);
    expect(ms).toBeLessThan(2 * AT_MOST_MS);
    const cost = async (size: number) => (await post(path, text(size), "PATCH", type)).ms;
    expect(await superlinearity(cost, SIZE)).toBeUndefined();
  });

  it.each<[what: string, query: string]>([
    ["a label selector of commas", `labelSelector=${encodeURIComponent(Array(1_500).fill("a in (b,c)").join(","))}`],
    ["a label selector of brackets", `labelSelector=${"(".repeat(15_000)}`],
    ["a field selector", `fieldSelector=${encodeURIComponent(Array(1_500).fill("a\\,b=c").join(","))}`],
    ["a continue token", `continue=${"A".repeat(15_000)}`],
    ["slashes", `/${"/".repeat(15_000)}`],
  ])("%s in a query costs little", async (_what, query) => {
    const { ms, value } = await costOf(server.process.pid, () =>
      server.send(`${SECRETS}?${query}`, { key: server.admin }),
    );
    expect(value.status).toBeLessThan(500);
    expect(ms).toBeLessThan(AT_MOST_MS);
  });

  it("of headers costs little", async () => {
    for (const name of ["accept", "content-type", "user-agent", "authorization"]) {
      const headers = { [name]: `a/b ${" ".repeat(14_000)}(`.trim() };
      const { ms, value } = await costOf(server.process.pid, () => server.send(KEYS, { headers, body: "{}" }));
      expect(value.status).toBeLessThan(500);
      expect(ms).toBeLessThan(AT_MOST_MS);
    }
  });
});

describe("one head of nearly a mebibyte without a credential (security book 50)", () => {
  const filled = (unit: string): string => unit.repeat(Math.floor(900_000 / unit.length));

  it.each<[what: string, path: string, headers: Readonly<Record<string, string>>]>([
    ["parameters", `/version?${filled("a&")}`, {}],
    ["parameters of the page to sign in", `/login?${filled("a=b&")}`, {}],
    ["segments", filled("/a"), {}],
    ["segments through the proxy", `/kubernetes/project/a/virtualcluster/b${filled("/a")}`, {}],
    ["slashes", filled("/"), {}],
    ["encoded characters", `/${filled("%41")}`, {}],
    ["media types", "/version", { accept: filled("a/b,") }],
    ["parameters of a media type", "/version", { accept: `application/json${filled(";a=b")}` }],
    ["words of a user agent", "/version", { "user-agent": filled("pst_a ") }],
  ])("is not taken apart: %s", async (_what, path, headers) => {
    expect((await server.send(path, { headers })).status).toBe(Object.keys(headers).length === 0 ? 414 : 431);
  });

  it.each([
    ["spaces", "+"],
    ["encoded characters", "%41"],
  ])("costs little as one parameter of %s", async (_what, unit) => {
    const ask = () => server.send(`/version?a=${filled(unit)}`, {});
    const { ms, value } = await costOf(server.process.pid, ask);
    expect(value.status).toBe(200);
    expect(ms).toBeLessThan(AT_MOST_MS);
  });
});

describe("expressions of users in a virtual cluster (security book 51)", () => {
  const DEMO = "/kubernetes/project/default/virtualcluster/demo";
  const DEFINITIONS = `${DEMO}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
  /** Each of at most 70 items is looked at for each, for each. */
  const definition = (plural: string, maxItems?: number) =>
    definitionManifest(
      { group: "example.com", kind: plural.toUpperCase(), plural },
      definitionVersion("v1", {
        type: "object",
        properties: {
          items: {
            type: "array",
            ...(maxItems === undefined ? {} : { maxItems }),
            items: { type: "string", maxLength: 8 },
            "x-kubernetes-validations": [{ rule: "self.all(a, self.all(b, self.all(c, a != b || b != c || a == c)))" }],
          },
          text: { type: "string", "x-kubernetes-validations": [{ rule: "!self.matches('^(a+)+$')" }] },
          name: { type: "string", pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" },
        },
      }),
    );
  const send = (path: string, body: object) =>
    costOf(server.process.pid, () => server.send(path, { key: server.admin, body }));

  it("are refused where they could cost too much, and given up where they do", async () => {
    const unbounded = await vi.waitFor(async () => {
      const answer = await send(DEFINITIONS, definition("wides"));
      if (answer.value.status === 503) throw new Error(answer.value.text);
      return answer;
    });
    expect([unbounded.value.status, unbounded.value.text]).toEqual([
      422,
      expect.stringContaining("estimated rule cost exceeds budget"),
    ]);
    expect((await send(DEFINITIONS, definition("costlies", 70))).value.status).toBe(201);
    const write = (more: object) =>
      send(`${DEMO}/apis/example.com/v1/costlies`, {
        apiVersion: "example.com/v1",
        kind: "COSTLIES",
        metadata: { generateName: "a-" },
        ...more,
      });
    await vi.waitFor(async () => expect((await write({ items: ["a"] })).value.status).toBe(201));
    const attacks: readonly (readonly [object, number])[] = [
      [{ items: Array.from({ length: 70 }, (_, at) => `item-${at}`) }, 422],
      [{ text: `${"a".repeat(SIZE)}!` }, 201],
      [{ text: "a".repeat(1_000) }, 422],
      [{ name: "a".repeat(SIZE) }, 422],
    ];
    const costs = [];
    for (const [more, status] of attacks) {
      const { ms, value } = await write(more);
      expect([value.status, value.text.slice(0, 300)]).toEqual([status, expect.anything()]);
      expect(ms).toBeLessThan(AT_MOST_MS);
      costs.push(Math.round(ms));
    }
    process.stdout.write(`expressions: ${costs.join(", ")} ms of the server's thread\n`);
  });
});

it(`no field of any kind is worked on for longer than its length allows: ${fields} of them, TEST_SEED=${seed} (security book 46, 50)`, async () => {
  const { body } = await server.send("/openapi/v2", { key: server.admin });
  const all = fieldAttacks(body);
  expect(all.length).toBeGreaterThan(500);
  const faults: string[] = [];
  for (const attack of chosen(all)) {
    const run = async (size: number) => (await post(attack.path, attack.body(size))).ms;
    const { ms, value } = await post(attack.path, attack.body(SIZE));
    const place = `${attack.kind} ${attack.field}`;
    if (value.status >= 500) faults.push(`${place}: ${value.status}`);
    if (ms > AT_MOST_MS) faults.push(`${place}: ${Math.round(ms)} ms`);
    // A body that is cheap at this size is cheap at thirty times that.
    const growth = ms > 60 ? await superlinearity(run, SIZE) : undefined;
    if (growth !== undefined) faults.push(`${place}: ${growth}`);
  }
  expect(faults.join("\n")).toBe("");
});

it("a body of a million items is refused before anything is made of it, Secrets of a mebibyte and projects of 5,000 members are taken (security book 46)", async () => {
  const { ms, value } = await post(KEYS, `{"spec":{"groups":[${Array(1_000_000).fill(1).join(",")}]}}`);
  expect([value.status, value.body.message]).toEqual([
    400,
    expect.stringContaining("more than 60000 members and items"),
  ]);
  expect(ms).toBeLessThan(AT_MOST_MS);
  const large = { metadata: { name: "large" }, data: { a: Buffer.alloc(750_000).toString("base64") } };
  const many = {
    metadata: { name: "many" },
    data: Object.fromEntries(texts(29_000).map((name) => [name, "MDEyMzQ1Njc4"])),
  };
  for (const secret of [large, many]) expect((await post(SECRETS, secret)).value.status).toBe(201);
  const members = Array.from({ length: 5_000 }, (_, at) => ({
    kind: "User",
    group: "storage.postern",
    name: `m-${at}`,
    clusterRole: "project-admin",
  }));
  const project = { metadata: { name: "large" }, spec: { members } };
  expect((await post(`${API}/projects`, project)).value.status).toBe(201);
});

it("a patch makes no object of more members than a body may have (security book 46)", async () => {
  const data = (from: number) => Object.fromEntries(texts(20_000).map((name) => [`${from}-${name}`, ""]));
  const made = await server.send(SECRETS, { key: server.admin, body: { metadata: { name: "grows" }, data: data(1) } });
  expect(made.status).toBe(201);
  const apply = { apiVersion: "v1", kind: "Secret", metadata: { name: "grows" }, data: data(2) };
  for (const [type, body] of [
    [MERGE_PATCH, { data: data(2) }],
    [APPLY, apply],
  ] as const) {
    const { value } = await post(`${SECRETS}/grows?fieldManager=a`, body, "PATCH", type);
    expect([value.status, value.body.message]).toEqual([413, expect.stringContaining("more than 60000 members")]);
  }
  const { value } = await post(`${SECRETS}/grows`, { data: { one: "YQ==" } }, "PATCH", MERGE_PATCH);
  expect(value.status).toBe(200);
});

it("others are served between the parts of the work on a large object (security book 46, 50)", async () => {
  const data = Object.fromEntries(texts(29_000).map((name) => [name, ""]));
  let isAnswered = false;
  const write = post(SECRETS, { metadata: { name: "large" }, data }).then(({ value }) => {
    isAnswered = true;
    return value.status;
  });
  let served = 0;
  while (!isAnswered) {
    expect((await server.send("/version", { key: server.good })).status).toBe(200);
    served++;
  }
  expect(await write).toBe(201);
  // Of one piece of work, requests before and after it are served: those in between are as many as it has parts.
  expect(served).toBeGreaterThan(5);
});

it("a key whose scope is too large is refused with the field (security book 46)", async () => {
  const scope = { projects: texts(6_000).map((project) => ({ project })) };
  const { value } = await post(KEYS, { metadata: { name: "large" }, spec: { user: "good", scope } });
  expect([value.status, value.body.details.causes[0].field]).toEqual([422, "spec.scope"]);
});

it("reports stalls of the event loop in metrics and log, none of a second", async () => {
  const { text } = await server.send("/metrics", { key: server.admin });
  const figure = (what: string) => Number(new RegExp(`stall_seconds_${what}\\} (\\d+)`).exec(text)?.[1] ?? 0);
  expect(text).toContain("# TYPE apiserver_event_loop_stall_seconds histogram");
  const stalls = text.match(/^apiserver_event_loop_stall_seconds\w*\{.*cause="work".*$/gm) ?? [];
  process.stdout.write(`${stalls.join("\n")}\n`);
  // The machine may stop any process for a while: one stall may be of that.
  expect(figure('count{cause="work"') - figure('bucket{le="2.5",cause="work"')).toBeLessThanOrEqual(1);
});

function chosen(all: readonly FieldAttack[]): readonly FieldAttack[] {
  if (fields >= all.length) return all;
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
  return Array.from({ length: fields }, () => all[Math.floor(next() * all.length)]).filter(
    (attack) => attack !== undefined,
  );
}

function nested(text: string, levels: number): string {
  return levels === 0 ? text : JSON.stringify([nested(text, levels - 1)]);
}
