// Worker threads are shared by all tenants: the dear work of one tenant keeps no other waiting, and work over its budget is refused with the field.

import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { byNight, namedCasesOf } from "../../tools/test-cost/by-night.ts";
import { startTenants, type Tenants } from "./testing/denial/tenants.ts";

/** Clients of the attacker's cluster, each with dear work of its own. */
const CLIENTS = 4;
const DEARS = "apis/attack.example/v1/dears";
// A thousand threads of the automaton for every character.
const slow = { type: "string", pattern: "[ab]*a[ab]{900}c" };
const SLOW_TEXT = "ab".repeat(50_000);

const alternatives = (depth: number): object =>
  depth === 0 ? { pattern: "^(a|b)*c$" } : { anyOf: Array.from({ length: 4 }, () => alternatives(depth - 1)) };
const properties = {
  list: { type: "array", items: { type: "string", ...alternatives(5) } },
  slow,
  others: { type: "array", items: { type: "string", not: { pattern: slow.pattern } } },
  open: { type: "string" },
};
const definition = definitionManifest(
  { group: "attack.example", kind: "Dear", plural: "dears" },
  definitionVersion("v1", {
    type: "object",
    properties: {
      spec: { type: "object", properties },
      status: { type: "object", properties: { slow } },
    },
  }),
);
const dear = (name: string, spec: object, rest: object = {}) => ({
  apiVersion: "attack.example/v1",
  kind: "Dear",
  metadata: { name },
  spec,
  ...rest,
});

describe("worker threads that tenants share", () => {
  let tenants: Tenants;
  const inside = (path: string, request: object) =>
    tenants.send(`${tenants.target.cluster}/${path}`, { key: tenants.target.key, ...request });

  beforeAll(async () => {
    tenants = await startTenants({ objects: 0 });
    const made = await inside("apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: definition });
    if (made.status !== 201) throw new Error(made.text);
    while ((await inside(DEARS, { body: dear("plain", { open: "a" }) })).status === 404);
  });
  afterAll(async () => {
    await tenants?.[Symbol.asyncDispose]();
  });

  const merge = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
  const slowly: readonly (readonly [what: string, field: string, path: string, request: object])[] = [
    ["of a create", "spec.slow", DEARS, { body: dear("slow", { slow: SLOW_TEXT }) }],
    ["below not", "spec.others[1]", DEARS, { body: dear("not", { others: ["c", SLOW_TEXT] }) }],
    ["of an update", "spec.slow", `${DEARS}/plain`, { method: "PUT", body: dear("plain", { slow: SLOW_TEXT }) }],
    ["of a patch", "spec.slow", `${DEARS}/plain`, { ...merge, body: { spec: { slow: SLOW_TEXT } } }],
    [
      "of an apply",
      "spec.slow",
      `${DEARS}/plain?fieldManager=a`,
      {
        method: "PATCH",
        headers: { "content-type": "application/apply-patch+yaml" },
        body: dear("plain", { slow: SLOW_TEXT }),
      },
    ],
    ["of the status", "status.slow", DEARS, { body: dear("status", {}, { status: { slow: SLOW_TEXT } }) }],
    ["of a dry run", "spec.slow", `${DEARS}?dryRun=All`, { body: dear("dry", { slow: SLOW_TEXT }) }],
  ];
  const isNamed = namedCasesOf(slowly, ([what]) => what, ["of a create", "of an update"]);
  it.each(isNamed)(
    "refuse a text %s for which its pattern takes too long, and name it",
    async (_, field, path, request) => {
      const { status, body } = await inside(path, await asNewest(path, request));
      expect([status, body.reason, body.details?.causes]).toEqual([
        422,
        "Invalid",
        [expect.objectContaining({ field, message: expect.stringContaining("takes too long") })],
      ]);
    },
  );

  /** An update names the version that it changes. */
  async function asNewest(path: string, request: any): Promise<object> {
    if (request.method !== "PUT") return request;
    const { resourceVersion } = (await inside(path, {})).body.metadata;
    return { ...request, body: { ...request.body, metadata: { ...request.body.metadata, resourceVersion } } };
  }

  byNight("work for another tenant before the rest of one that has many clients", async () => {
    const binding = {
      metadata: { name: "all" },
      subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "system:serviceaccounts" }],
      roleRef: { kind: "ClusterRole", apiGroup: "rbac.authorization.k8s.io", name: "cluster-admin" },
    };
    expect((await inside("apis/rbac.authorization.k8s.io/v1/clusterrolebindings", { body: binding })).status).toBe(201);
    const accounts = "api/v1/namespaces/default/serviceaccounts";
    const tokens: string[] = [];
    for (let index = 0; index < CLIENTS; index++) {
      const name = `many${index}`;
      expect((await inside(accounts, { body: { metadata: { name } } })).status).toBe(201);
      const issued = await inside(`${accounts}/${name}/token`, { body: { spec: {} } });
      tokens.push(issued.body.status.token);
    }
    const list = Array.from({ length: 200 }, (_, index) => `abab${index}`);
    const answered: string[] = [];
    const attack = tokens.map(async (key, index) => {
      const { status } = await inside(DEARS, { key, body: dear(`dear${index}`, { list }) });
      answered.push(`${status}`);
    });
    await Promise.race(attack);
    const before = answered.length;
    const data = Array.from({ length: 2_000 }, (_, index) => `  k${index}: ${"YWJj".repeat(12)}`).join("\n");
    const yaml = await tenants.send("/api/v1/namespaces/default/secrets?dryRun=All", {
      key: tenants.admin,
      headers: { "content-type": "application/yaml" },
      body: `apiVersion: v1\nkind: Secret\nmetadata:\n  name: plain\ndata:\n${data}\n`,
    });
    const overtaken = CLIENTS - answered.length;
    expect([yaml.status, before < CLIENTS]).toEqual([201, true]);
    expect(overtaken).toBeGreaterThan(0);
    await Promise.all(attack);
    expect(answered).toEqual(Array(CLIENTS).fill("422"));
  });
});
