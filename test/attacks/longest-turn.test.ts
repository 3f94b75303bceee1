// One request within the limits of a body, made so that some part of the work on it is as long as it can be: others wait for no longer than the
// longest turn of the event loop. How long that took is compared with what parsing the largest body takes in the same process (11 to 17 ms on the
// machines that this was written on), so that a slow or busy machine decides nothing. By day one request of each sort of work; EVERY_CASE=1
// sends them all.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { namedCasesOf } from "../../tools/test-cost/by-night.ts";
import type { HttpRequest } from "../e2e/testing/http-client.ts";
import { startTenants, type Tenants } from "./testing/denial/tenants.ts";

const WATCH = new URL("./testing/turn-watch.mjs", import.meta.url).href;
/** Some walks over a body take longer than parsing it. Before work was done in parts there were turns of thirty and more. */
const MOST_UNITS = 5;
/** A collection of garbage may fall into any turn: the least of so many tries counts. */
const TRIES = 3;

const RBAC = "apis/rbac.authorization.k8s.io/v1";
const ADMISSION = "apis/admissionregistration.k8s.io/v1";
const DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MERGE = { "content-type": "application/merge-patch+json" };
const STRATEGIC = { "content-type": "application/strategic-merge-patch+json" };
const JSON_PATCH = { "content-type": "application/json-patch+json" };
const APPLY = { "content-type": "application/apply-patch+yaml" };

const FORCED = "fieldManager=a&force=true";

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `k${index}`);
const flat = (count: number, value: unknown): object => Object.fromEntries(names(count).map((name) => [name, value]));
/** So many members in objects of 900. */
const nested = (count: number): object =>
  Object.fromEntries(names(Math.ceil(count / 900)).map((name) => [name, flat(900, "x")]));
const many = { metadata: { name: "many" } };
const rules = names(5_000).map((name) => ({ verbs: ["get"], apiGroups: [name], resources: [name] }));
const subjects = names(14_000).map((name) => ({ kind: "User", apiGroup: "rbac.authorization.k8s.io", name }));
const roleRef = { kind: "ClusterRole", apiGroup: "rbac.authorization.k8s.io", name: "many" };
const expression = "self.size() < 100 && !self.startsWith('a') || self.matches('^[a-z]+$')";
const ruled = Object.fromEntries(
  names(1_000).map((name) => [
    name,
    { type: "string", maxLength: 9, "x-kubernetes-validations": [{ rule: expression }] },
  ]),
);
const definition = definitionManifest(
  { group: "attack.example", kind: "Ruled", plural: "ruleds" },
  definitionVersion("v1", { type: "object", properties: { spec: { type: "object", properties: ruled } } }),
);
const policy = {
  metadata: { name: "many" },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }],
    },
    validations: names(4_000).map((name) => ({
      expression: `object.metadata.name != '${name}' && (!has(object.metadata.labels) || object.metadata.labels.all(l, l.size() < 100))`,
    })),
  },
};
const bindingOf = (name: string) => ({
  metadata: { name },
  spec: { policyName: name, validationActions: ["Deny"] },
});
/** Each in a turn of its own would be more turns than the gate has time for: what is looked at together has to be too much together. */
const CROWD = 8;
const annotated = (name: string, metadata: object = {}) => ({
  metadata: { name, annotations: flat(15_000, ""), ...metadata },
});
const port = { ports: [{ port: 80 }] };
const policyOn = (resource: string, expression: string) => ({
  metadata: { name: resource },
  spec: {
    failurePolicy: "Ignore",
    matchConstraints: {
      resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: [resource] }],
    },
    validations: [{ expression }],
  },
});
const ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
const loops = ["a", "b", "c", "d", "e"].reduce((body, name) => `${ten}.all(${name}, ${body})`, "object.kind != ''");
const defined = (kind: string, properties: object) =>
  definitionManifest(
    { group: "attack.example", kind, plural: `${kind.toLowerCase()}s` },
    definitionVersion("v1", { type: "object", properties: { spec: { type: "object", properties } } }),
  );
/** Each has a default that has to be a value of it. */
const withDefaults = Object.fromEntries(
  names(1_500).map((name) => [
    name,
    {
      type: "object",
      default: { a: 1, b: ["x"] },
      properties: {
        a: { type: "integer" },
        b: { type: "array", maxItems: 2, items: { type: "string", pattern: "^x+$" } },
      },
      "x-kubernetes-validations": [{ rule: "self.a > 0" }],
    },
  ]),
);
/** Defaults in defaults, each of which has all that is below. */
const nestedDefaults = (depth: number): object =>
  depth === 0
    ? { type: "string", default: "x" }
    : {
        type: "object",
        default: {},
        properties: {
          a: nestedDefaults(depth - 1),
          b: { type: "array", default: Array(300).fill("y"), items: { type: "string" } },
        },
      };
const deep = (depth: number): object =>
  depth === 0
    ? { type: "string" }
    : { type: "object", properties: { a: deep(depth - 1), ...flat(20, { type: "string" }) } };
/** A small pattern with a large automaton. */
const PATTERN = "((a?){1000}){4}b";
const patterned = definitionManifest(
  { group: "attack.example", kind: "Patterned", plural: "patterneds" },
  definitionVersion("v1", {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: Object.fromEntries(names(2_000).map((name) => [name, { type: "string", pattern: PATTERN }])),
      },
    },
  }),
);
const listed = definitionManifest(
  { group: "attack.example", kind: "Listed", plural: "listeds" },
  definitionVersion("v1", {
    type: "object",
    properties: {
      spec: { type: "array", items: { type: "string", enum: names(5_000) } },
    },
  }),
);
/** Items that are told apart by their keys, as many as a body may have. */
const KEYED = "apis/attack.example/v1/keyeds";
const keyed = definitionManifest(
  { group: "attack.example", kind: "Keyed", plural: "keyeds" },
  definitionVersion("v1", {
    type: "object",
    properties: {
      spec: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: {
          type: "object",
          required: ["name"],
          properties: { name: { type: "string" }, value: { type: "string" } },
        },
      },
      set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    },
  }),
);
const items = (count: number, value: string): readonly object[] => names(count).map((name) => ({ name, value }));
const keyedOf = (name: string, spec: unknown): object => ({
  apiVersion: "attack.example/v1",
  kind: "Keyed",
  metadata: { name },
  spec,
});
const SERVICE = "api/v1/namespaces/default/services";
const ports = (count: number): readonly object[] =>
  names(count).map((name, index) => ({ name, port: index + 1, protocol: "TCP" }));
const serviceOf = (name: string, list: unknown): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: list },
});
const yamlOf = (lines: number): string =>
  names(lines)
    .map((name) => `  ${name}: "v"\n`)
    .join("");

/** In this order. Those in the management API are the administrator's. */
const REQUESTS: readonly (readonly [what: string, path: string, status: number, request: HttpRequest])[] = [
  ["a ConfigMap", "api/v1/namespaces/default/configmaps", 201, { body: { ...many, data: flat(29_900, "") } }],
  ["a merge patch", "api/v1/namespaces/default/configmaps/many", 200, merge({ data: flat(29_900, null) })],
  [
    "a strategic merge patch",
    "api/v1/namespaces/default/configmaps/many",
    200,
    { method: "PATCH", headers: STRATEGIC, body: { data: flat(29_000, "v") } },
  ],
  [
    "a JSON patch",
    "api/v1/namespaces/default/configmaps/many",
    200,
    {
      method: "PATCH",
      headers: JSON_PATCH,
      body: names(9_000).map((name) => ({ op: "replace", path: `/data/${name}`, value: "q" })),
    },
  ],
  [
    "an apply",
    "api/v1/namespaces/default/configmaps/many?fieldManager=a&force=true",
    200,
    {
      method: "PATCH",
      headers: APPLY,
      body: { apiVersion: "v1", kind: "ConfigMap", ...many, data: flat(29_000, "w") },
    },
  ],
  [
    "options of a DELETE",
    "api/v1/namespaces/default/configmaps/many",
    200,
    remove(JSON.stringify({ dryRun: ["All"], ...nested(59_000) })),
  ],
  [
    "options of a DELETE in YAML",
    "api/v1/namespaces/default/configmaps/many",
    200,
    remove(`dryRun: [All]\npreconditions:\n${yamlOf(20_000)}`, { "content-type": "application/yaml" }),
  ],
  ["a DELETE", "api/v1/namespaces/default/configmaps/many", 200, { method: "DELETE" }],
  ["a role", `${RBAC}/clusterroles`, 201, { body: { ...many, rules } }],
  ["a binding", `${RBAC}/clusterrolebindings`, 201, { body: { ...many, roleRef, subjects } }],
  [
    "a certificate request",
    "apis/certificates.k8s.io/v1/certificatesigningrequests",
    422,
    {
      body: {
        ...many,
        spec: {
          request: "MIIC".repeat(700_000),
          signerName: "kubernetes.io/kube-apiserver-client",
          usages: ["client auth"],
        },
      },
    },
  ],
  ["a definition with rules", DEFINITIONS, 201, { body: definition }],
  ["a policy", `${ADMISSION}/validatingadmissionpolicies`, 201, { body: policy }],
  ["a binding of it", `${ADMISSION}/validatingadmissionpolicybindings`, 201, { body: bindingOf("many") }],
  [
    "what the policy is about",
    "api/v1/namespaces/default/configmaps?dryRun=All",
    201,
    { body: { metadata: { name: "one" } } },
  ],
  [
    "a policy that loops",
    `${ADMISSION}/validatingadmissionpolicies`,
    201,
    { body: policyOn("serviceaccounts", loops) },
  ],
  [
    "a policy with a pattern",
    `${ADMISSION}/validatingadmissionpolicies`,
    201,
    { body: policyOn("secrets", `object.data.all(name, !object.data[name].matches('${PATTERN}'))`) },
  ],
  [
    "a binding of that which loops",
    `${ADMISSION}/validatingadmissionpolicybindings`,
    201,
    { body: bindingOf("serviceaccounts") },
  ],
  [
    "a binding of that with a pattern",
    `${ADMISSION}/validatingadmissionpolicybindings`,
    201,
    { body: bindingOf("secrets") },
  ],
  [
    "what the one that loops is about",
    "api/v1/namespaces/default/serviceaccounts?dryRun=All",
    201,
    { body: { metadata: { name: "one" } } },
  ],
  [
    "what the one with a pattern is about",
    "api/v1/namespaces/default/secrets?dryRun=All",
    201,
    { body: { metadata: { name: "one" }, data: flat(100, "aaaa".repeat(250)) } },
  ],
  ["a definition with defaults", DEFINITIONS, 201, { body: defined("Defaulted", withDefaults) }],
  ["a definition with defaults in defaults", DEFINITIONS, 201, { body: defined("Nested", { a: nestedDefaults(60) }) }],
  ["a deep definition", DEFINITIONS, 201, { body: defined("Deep", { a: deep(90) }) }],
  ["a definition with patterns", DEFINITIONS, 201, { body: patterned }],
  [
    "what has the patterns",
    "apis/attack.example/v1/patterneds?dryRun=All",
    422,
    { body: { apiVersion: "attack.example/v1", kind: "Patterned", ...many, spec: flat(400, "a".repeat(300)) } },
  ],
  ["a definition with a list of values", DEFINITIONS, 201, { body: listed }],
  [
    "what has one of the values often",
    "apis/attack.example/v1/listeds?dryRun=All",
    201,
    { body: { apiVersion: "attack.example/v1", kind: "Listed", ...many, spec: Array(25_000).fill("k4999") } },
  ],
  [
    "a Service beside large ones, with a quota",
    "api/v1/namespaces/default/services",
    201,
    { body: { ...many, spec: port } },
  ],
  [
    "a role that selects large ones",
    `${RBAC}/clusterroles`,
    201,
    {
      body: {
        metadata: { name: "selects" },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { crowd: "yes" } }] },
        rules: [],
      },
    },
  ],
  [
    "a change of a version of many digits",
    "api/v1/namespaces/default",
    500,
    { method: "PUT", body: { metadata: { name: "default", resourceVersion: "9".repeat(2_900_000) } } },
  ],
  [
    "a quota of many digits",
    "api/v1/namespaces/default/resourcequotas",
    422,
    { body: { ...many, spec: { hard: { pods: "9".repeat(2_900_000) } } } },
  ],
  ["a namespace", "api/v1/namespaces", 201, { body: { metadata: { name: "many", annotations: flat(20_000, "") } } }],
  [
    "a scale in YAML",
    "apis/attack.example/v1/scaleds/one/scale?fieldManager=a&force=true&dryRun=All",
    200,
    {
      method: "PATCH",
      headers: APPLY,
      body: `apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: one}\nspec:\n  replicas: 1\n${yamlOf(20_000)}`,
    },
  ],
  ["a definition of long lists", DEFINITIONS, 201, { body: keyed }],
  ["a long list", KEYED, 201, { body: keyedOf("many", items(12_000, "a")) }],
  ["a long list, merged", `${KEYED}/many`, 200, merge({ spec: items(12_000, "c") })],
  [
    "a long list, patched",
    `${KEYED}/many`,
    200,
    {
      method: "PATCH",
      headers: JSON_PATCH,
      body: names(9_000).map((_, index) => ({ op: "replace", path: `/spec/${index}/value`, value: "d" })),
    },
  ],
  ["a long list after a small patch", `${KEYED}/many`, 200, merge({ metadata: { labels: { a: "b" } } })],
  ["a long list, applied", `${KEYED}/many?${FORCED}`, 200, applied(keyedOf("many", items(12_000, "e")))],
  ["a long list, applied again", `${KEYED}/many?${FORCED}`, 200, applied(keyedOf("many", items(12_000, "f")))],
  [
    "a long list, taken from another",
    `${KEYED}/many?fieldManager=b`,
    409,
    applied(keyedOf("many", items(12_000, "g"))),
  ],
  ["a long list, half given up", `${KEYED}/many?${FORCED}`, 200, applied(keyedOf("many", items(6_000, "f")))],
  ["a new long list, applied", `${KEYED}/new?${FORCED}&dryRun=All`, 201, applied(keyedOf("new", items(12_000, "e")))],
  ["a long list as a set", KEYED, 201, { body: { ...keyedOf("set", []), set: names(29_000) } }],
  [
    "a long list as a set, applied",
    `${KEYED}/set?${FORCED}`,
    200,
    applied({ ...keyedOf("set", []), set: names(28_000).toReversed() }),
  ],
  ["a Service with a long list of ports", SERVICE, 201, { body: serviceOf("ports", ports(8_000)) }],
  [
    "a Service's long list of ports, ordered",
    `${SERVICE}/ports`,
    200,
    {
      method: "PATCH",
      headers: STRATEGIC,
      body: {
        spec: {
          "$setElementOrder/ports": names(8_000).map((_, index) => ({ port: 8_000 - index })),
          ports: ports(2_000).toReversed(),
        },
      },
    },
  ],
  [
    "a Service's long list of ports, applied",
    `${SERVICE}/ports?${FORCED}`,
    200,
    applied(serviceOf("ports", ports(8_000))),
  ],
  ["a Secret", "/api/v1/namespaces/default/secrets", 201, { body: { ...many, data: flat(29_900, "YQ==") } }],
  ["a patch of it", "/api/v1/namespaces/default/secrets/many", 200, merge({ data: { a: "YQ==" } })],
  [
    "a key with labels",
    "/apis/management.postern/v1/ownedaccesskeys",
    201,
    key("labels", { labels: flat(8_000, "a") }),
  ],
  [
    "a key with finalizers",
    "/apis/management.postern/v1/ownedaccesskeys",
    201,
    key("ends", { finalizers: names(6_500).map((name) => `a/${name}`) }),
  ],
];

const BY_DAY: readonly string[] = [
  "a ConfigMap",
  "options of a DELETE in YAML",
  "a definition with patterns",
  "a Service beside large ones, with a quota",
];
const SENT = namedCasesOf(REQUESTS, ([what]) => what, BY_DAY);

function applied(body: object): HttpRequest {
  return { method: "PATCH", headers: APPLY, body };
}
const nameIn = ({ body }: HttpRequest): string => (body as any).metadata.name;

function merge(body: object): HttpRequest {
  return { method: "PATCH", headers: MERGE, body };
}
function remove(body: string, headers: HttpRequest["headers"] = {}): HttpRequest {
  return { method: "DELETE", body, headers };
}
function key(name: string, metadata: object): HttpRequest {
  return { body: { metadata: { name, ...metadata }, spec: { type: "User", user: "good" } } };
}

describe("one request keeps others waiting for no longer than some walks over its body (security book 46, 50)", () => {
  let tenants: Tenants;
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let file: string;
  beforeAll(async () => {
    directory = await temporaryDirectory();
    file = join(directory.path, "turns.json");
    const env = { NODE_OPTIONS: `--import=${WATCH}`, TURN_WATCH_FILE: file };
    tenants = await startTenants({ objects: 0, env });
    const scaled = definitionManifest(
      { group: "attack.example", kind: "Scaled", plural: "scaleds" },
      {
        ...definitionVersion("v1", {
          type: "object",
          properties: { spec: { type: "object", properties: { replicas: { type: "integer" } } } },
        }),
        subresources: { scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" } },
      },
    );
    const { status, text } = await send(DEFINITIONS, { body: scaled });
    if (status !== 201) throw new Error(text);
    const create = async (collection: string, body: object) => {
      const created = await send(collection, { body });
      if (created.status !== 201) throw new Error(created.text);
    };
    await create("api/v1/namespaces/default/resourcequotas", {
      metadata: { name: "all" },
      spec: { hard: { "count/services": "100", "services.nodeports": "100" } },
    });
    for (const name of names(CROWD)) {
      await create("api/v1/namespaces/default/services", { ...annotated(name), spec: port });
      const metadata = { labels: { crowd: "yes" } };
      await create(`${RBAC}/clusterroles`, {
        ...annotated(name, metadata),
        rules: [{ ...rules[0], resources: [name] }],
      });
    }
    const one = { apiVersion: "attack.example/v1", kind: "Scaled", metadata: { name: "one" }, spec: { replicas: 2 } };
    const path = "apis/attack.example/v1/scaleds";
    const made = async () => expect((await send(path, { body: one })).status).toBe(201);
    await vi.waitFor(made);
  });
  afterAll(async () => {
    await tenants?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  const send = (path: string, request: HttpRequest) =>
    path.startsWith("/")
      ? tenants.send(path, { key: tenants.admin, ...request })
      : tenants.send(`${tenants.target.cluster}/${path}`, { key: tenants.target.key, ...request });

  /** Retries until a new definition's resource is served, which is soon after its creation. */
  async function served(path: string, request: HttpRequest) {
    for (;;) {
      const answer = await send(path, request);
      if (answer.status !== 404 || !path.includes("/attack.example/")) return answer;
    }
  }

  async function toggle(isOn: boolean): Promise<{ readonly longestMs: number; readonly unitMs: number }> {
    await writeFile(file, "{}");
    process.kill(tenants.process.pid, "SIGUSR2");
    const read = async () => JSON.parse(await readFile(file, "utf8"));
    return await vi.waitFor(
      async () => {
        const found = await read();
        if (found.isOn !== isOn) throw new Error("the server has not seen the signal");
        return found;
      },
      { interval: 5 },
    );
  }

  test.each(SENT)("%s", async (what, path, status, request) => {
    const tries: number[] = [];
    while (tries.length < TRIES && !tries.some((units) => units <= MOST_UNITS)) {
      await toggle(true);
      const again =
        tries.length > 0 && !path.includes("dryRun") ? `${path}${path.includes("?") ? "&" : "?"}dryRun=All` : path;
      const answer = await served(again, request);
      // Controllers begin with it.
      if (path.endsWith("clusterroles")) {
        await vi.waitFor(async () => {
          const found = await send(`${path}/${nameIn(request)}`, {});
          expect(found.body.aggregationRule === undefined || (found.body.rules ?? []).length > 0).toBe(true);
        });
      }
      const { longestMs, unitMs } = await toggle(false);
      if (tries.length === 0) expect([answer.status, answer.text.slice(0, 300)]).toEqual([status, expect.anything()]);
      tries.push(longestMs / unitMs);
    }
    process.stdout.write(`${what}: ${tries.map((units) => units.toFixed(1)).join(", ")} times as long as parsing\n`);
    expect(Math.min(...tries)).toBeLessThanOrEqual(MOST_UNITS);
  });
});
