// One request within the limits of a body, made so that some part of the work on it is as long as it can be: others wait for no longer than the
// longest turn of the event loop. How long that took is compared with what parsing the largest body takes in the same process (11 to 17 ms on the
// machines that this was written on), so that a slow or busy machine decides nothing.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { definitionManifest, definitionVersion } from "@postern/apiserver/custom-resources/testing/definition-manifest";
import { temporaryDirectory } from "@postern/platform/testing/temporary-directory";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { HttpRequest } from "../e2e/testing/http-client.ts";
import { startTenants, type Tenants } from "./testing/denial/tenants.ts";

const WATCH = new URL("./testing/turn-watch.mjs", import.meta.url).href;
/** Some walks over a body take longer than parsing it. Before work was done in parts there were turns of thirty and more. */
const MOST_UNITS = 5;
/** A collection of garbage may fall into any turn: the least of so many tries counts. */
const TRIES = 3;

const RBAC = "apis/rbac.authorization.k8s.io/v1";
const MERGE = { "content-type": "application/merge-patch+json" };
const STRATEGIC = { "content-type": "application/strategic-merge-patch+json" };
const JSON_PATCH = { "content-type": "application/json-patch+json" };
const APPLY = { "content-type": "application/apply-patch+yaml" };

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
const binding = {
  metadata: { name: "many" },
  spec: { policyName: "many", validationActions: ["Deny"] },
};
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
  ["a definition with rules", "apis/apiextensions.k8s.io/v1/customresourcedefinitions", 201, { body: definition }],
  ["a policy", "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies", 201, { body: policy }],
  ["a binding of it", "apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings", 201, { body: binding }],
  [
    "what the policy is about",
    "api/v1/namespaces/default/configmaps?dryRun=All",
    201,
    { body: { metadata: { name: "one" } } },
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
  ["a Secret", "/api/v1/namespaces/default/secrets", 201, { body: { ...many, data: flat(29_900, "YQ==") } }],
  ["a patch of it", "/api/v1/namespaces/default/secrets/many", 200, merge({ data: { a: "YQ==" } })],
  [
    "a key with labels",
    "/apis/management.postern/v1/ownedaccesskeys",
    201,
    key("labels", { labels: flat(29_000, "a") }),
  ],
  [
    "a key with finalizers",
    "/apis/management.postern/v1/ownedaccesskeys",
    201,
    key("ends", { finalizers: names(29_000).map((name) => `a/${name}`) }),
  ],
];

function merge(body: object): HttpRequest {
  return { method: "PATCH", headers: MERGE, body };
}
function remove(body: string, headers: HttpRequest["headers"] = {}): HttpRequest {
  return { method: "DELETE", body, headers };
}
function key(name: string, metadata: object): HttpRequest {
  return { body: { metadata: { name, ...metadata }, spec: { type: "User", user: "good" } } };
}

describe("security book 46, 50: one request keeps others waiting for no longer than some walks over its body", () => {
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
    const { status, text } = await send("apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body: scaled });
    if (status !== 201) throw new Error(text);
    const one = { apiVersion: "attack.example/v1", kind: "Scaled", metadata: { name: "one" }, spec: { replicas: 2 } };
    const path = "apis/attack.example/v1/scaleds";
    const made = async () => expect((await send(path, { body: one })).status).toBe(201);
    await vi.waitFor(made, { timeout: 20_000 });
  });
  afterAll(async () => {
    await tenants?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  const send = (path: string, request: HttpRequest) =>
    path.startsWith("/")
      ? tenants.send(path, { key: tenants.admin, ...request })
      : tenants.send(`${tenants.target.cluster}/${path}`, { key: tenants.target.key, ...request });

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
      { timeout: 20_000, interval: 5 },
    );
  }

  test.each(REQUESTS)("%s", async (what, path, status, request) => {
    const tries: number[] = [];
    while (tries.length < TRIES && !tries.some((units) => units <= MOST_UNITS)) {
      await toggle(true);
      const again =
        tries.length > 0 && !path.includes("dryRun") ? `${path}${path.includes("?") ? "&" : "?"}dryRun=All` : path;
      const answer = await send(again, request);
      const { longestMs, unitMs } = await toggle(false);
      if (tries.length === 0) expect([answer.status, answer.text.slice(0, 300)]).toEqual([status, expect.anything()]);
      tries.push(longestMs / unitMs);
    }
    process.stdout.write(`${what}: ${tries.map((units) => units.toFixed(1)).join(", ")} times as long as parsing\n`);
    expect(Math.min(...tries)).toBeLessThanOrEqual(MOST_UNITS);
  });
});
