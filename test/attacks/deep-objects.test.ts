// Objects that nest deeply, sent in every way in which an object can be sent or made: they are stored, or refused as the client's fault. Depths are
// drawn around each limit, with a printed seed.

import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { everyCase } from "../../tools/test-cost/by-night.ts";
import type { Answer, HttpRequest } from "../e2e/testing/http-client.ts";
import { API } from "./testing/attacked-server.ts";
import { startTenants, type Tenants } from "./testing/denial/tenants.ts";
import { isUpstreamsOwn } from "./testing/known-failures.ts";

const SEED = Number(process.env["TEST_SEED"] ?? 1);
/** Of paths of fields, of JSON, and of what may be parsed at all. */
const LIMITS = [250, 500, 512, 990, 1_000, 2_000, 10_000];
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const DEEPS = "apis/deep.example/v1/namespaces/default/deeps";
const CONFIG_MAPS = "api/v1/namespaces/default/configmaps";
const JSON_PATCH = { "content-type": "application/json-patch+json" };
const MERGE = { "content-type": "application/merge-patch+json" };
const STRATEGIC = { "content-type": "application/strategic-merge-patch+json" };
const APPLY = { "content-type": "application/apply-patch+yaml" };

/** As text: writing it as a value would take a walk of its own. */
const SHAPES: readonly ((depth: number) => string)[] = [
  (depth) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`,
  (depth) => `${"[".repeat(depth)}1${"]".repeat(depth)}`,
  (depth) => `${'[{"a":'.repeat(depth / 2)}1${"}]".repeat(depth / 2)}`,
  (depth) => `${'{"name":"x","spec":'.repeat(depth)}null${"}".repeat(depth)}`,
];

type Sent = readonly [what: string, path: string, request: (value: string, name: string) => HttpRequest];

const objectOf = (apiVersion: string, kind: string, name: string, members: string, metadata = ""): string =>
  `{"apiVersion":"${apiVersion}","kind":"${kind}","metadata":{"name":"${name}"${metadata}},${members}}`;
const deepOf = (name: string, value: string): string =>
  objectOf("deep.example/v1", "Deep", name, `"spec":{"a":${value}}`);
const patch = (headers: Record<string, string>, body: string): HttpRequest => ({ method: "PATCH", headers, body });

const SENT: readonly Sent[] = [
  ["create", DEEPS, (value, name) => ({ body: deepOf(name, value) })],
  ["dry run", `${DEEPS}?dryRun=All`, (value, name) => ({ body: deepOf(`${name}-dry`, value) })],
  ["strict create", `${DEEPS}?fieldValidation=Strict`, (value, name) => ({ body: deepOf(`${name}-strict`, value) })],
  [
    "YAML",
    DEEPS,
    (value, name) => ({ headers: { "content-type": "application/yaml" }, body: deepOf(`${name}-yaml`, value) }),
  ],
  ["merge patch", `${DEEPS}/one`, (value) => patch(MERGE, `{"spec":{"a":${value}}}`)],
  ["loose merge patch", `${DEEPS}/one?fieldValidation=Ignore`, (value) => patch(MERGE, `{"spec":{"a":${value}}}`)],
  ["JSON patch", `${DEEPS}/one`, (value) => patch(JSON_PATCH, `[{"op":"add","path":"/spec/a","value":${value}}]`)],
  [
    "JSON patch that tests",
    `${DEEPS}/one`,
    (value) => patch(JSON_PATCH, `[{"op":"test","path":"/spec/a","value":${value}}]`),
  ],
  [
    "JSON patch that copies",
    `${DEEPS}/one`,
    () => patch(JSON_PATCH, `[{"op":"copy","from":"/spec","path":"/spec/b"}]`),
  ],
  ["small patch of what is there", `${DEEPS}/one`, () => patch(MERGE, `{"metadata":{"labels":{"a":"b"}}}`)],
  ["apply", `${DEEPS}/one?fieldManager=f&force=true`, (value) => patch(APPLY, deepOf("one", value))],
  ["apply that is new", `${DEEPS}/new?fieldManager=f&dryRun=All`, (value) => patch(APPLY, deepOf("new", value))],
  [
    "small apply of what is there",
    `${DEEPS}/one?fieldManager=g`,
    () => patch(APPLY, objectOf("deep.example/v1", "Deep", "one", `"spec":{"c":1}`)),
  ],
  ["apply by kubectl", `${DEEPS}/one?fieldManager=kubectl&force=true`, (value) => patch(APPLY, deepOf("one", value))],
  [
    "what was applied last",
    `${DEEPS}/one`,
    (value) =>
      patch(
        MERGE,
        JSON.stringify({
          metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": deepOf("one", value) } },
        }),
      ),
  ],
  [
    "apply after that",
    `${DEEPS}/one?fieldManager=kubectl`,
    () => patch(APPLY, objectOf("deep.example/v1", "Deep", "one", `"spec":{"c":2}`)),
  ],
  ["status", `${DEEPS}/one/status`, (value) => patch(MERGE, `{"status":{"a":${value}}}`)],
  [
    "applied status",
    `${DEEPS}/one/status?fieldManager=s&force=true`,
    (value) => patch(APPLY, objectOf("deep.example/v1", "Deep", "one", `"status":{"a":${value}}`)),
  ],
  ["read", `${DEEPS}/one`, () => ({})],
  ["read as YAML", `${DEEPS}/one`, () => ({ headers: { accept: "application/yaml" } })],
  ["pretty", `${DEEPS}/one?pretty=true`, () => ({})],
  ["list", DEEPS, () => ({})],
  ["Table", DEEPS, () => ({ headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" } })],
  [
    "owners",
    `${DEEPS}/one`,
    (value) =>
      patch(
        MERGE,
        `{"metadata":{"managedFields":[{"manager":"x","operation":"Apply","apiVersion":"deep.example/v1","fieldsType":"FieldsV1","fieldsV1":${value.replaceAll('"a"', '"f:a"')}}]}}`,
      ),
  ],
  [
    "apply beside those",
    `${DEEPS}/one?fieldManager=g&force=true`,
    () => patch(APPLY, objectOf("deep.example/v1", "Deep", "one", `"spec":{"c":1}`)),
  ],
  [
    "ConfigMap",
    `${CONFIG_MAPS}?dryRun=All`,
    (value) => ({ body: objectOf("v1", "ConfigMap", "x", `"data":${value}`) }),
  ],
  [
    "strategic merge patch",
    `${CONFIG_MAPS}/kube-root-ca.crt?dryRun=All`,
    (value) => patch(STRATEGIC, `{"data":${value},"unknown":${value}}`),
  ],
  [
    "applied ConfigMap",
    `${CONFIG_MAPS}/x?fieldManager=f&dryRun=All`,
    (value) => patch(APPLY, objectOf("v1", "ConfigMap", "x", `"data":${value}`)),
  ],
  [
    "labels",
    `${CONFIG_MAPS}?dryRun=All`,
    (value) => ({ body: objectOf("v1", "ConfigMap", "x", `"data":{}`, `,"labels":${value}`) }),
  ],
  [
    "definition",
    "apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
    (value) => ({
      body: JSON.stringify(
        definitionManifest(
          { group: "deeper.example", kind: "Deeper", plural: "deepers" },
          definitionVersion("v1", { schema: "here" }),
        ),
      ).replace(
        '{"schema":"here"}',
        `{"type":"object","properties":${value.replaceAll('"a":', '"a":{"type":"object","properties":').replaceAll(/1(\}*)$/g, "{}$1$1")}}`,
      ),
    }),
  ],
  [
    "default of a definition",
    "apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All",
    (value) => ({
      body: JSON.stringify(
        definitionManifest(
          { group: "deeper.example", kind: "Deeper", plural: "deepers" },
          definitionVersion("v1", { type: "object", properties: { spec: { ...open, default: "here" } } }),
        ),
      ).replace('"here"', value),
    }),
  ],
  ["options of a DELETE", `${DEEPS}/absent`, (value) => ({ method: "DELETE", body: `{"preconditions":${value}}` })],
  [
    "review",
    "apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    (value) => ({ body: `{"spec":{"resourceAttributes":{"verb":"get","fieldSelector":${value}}}}` }),
  ],
  [
    "key",
    `${API}/ownedaccesskeys?dryRun=All`,
    (value) => ({ body: `{"metadata":{"name":"deep"},"spec":{"type":"User","scope":${value}}}` }),
  ],
  [
    "template",
    `${API}/virtualclustertemplates?dryRun=All`,
    (value) => ({
      body: `{"metadata":{"name":"deep"},"spec":{"template":{"spaceTemplate":${value},"objects":${JSON.stringify(value)}}}}`,
    }),
  ],
  [
    "applied template",
    `${API}/virtualclustertemplates/deep?fieldManager=f&dryRun=All`,
    (value) =>
      patch(
        APPLY,
        objectOf(
          "management.postern/v1",
          "VirtualClusterTemplate",
          "deep",
          `"spec":{"template":{"spaceTemplate":${value}}}`,
        ),
      ),
  ],
  [
    "objects of an instance",
    `${API}/namespaces/p-tenant/virtualclusterinstances?dryRun=All`,
    (value) => ({
      body: `{"metadata":{"name":"deep"},"spec":{"owner":{"user":"attacker"},"template":{"objects":${JSON.stringify(value)}}}}`,
    }),
  ],
  [
    "parameters of an instance",
    `${API}/namespaces/p-tenant/virtualclusterinstances?dryRun=All`,
    (value) => ({
      body: `{"metadata":{"name":"deep"},"spec":{"owner":{"user":"attacker"},"templateRef":{"name":"absent"},"parameters":${JSON.stringify(value)}}}`,
    }),
  ],
];

let tenants: Tenants;
const problems: string[] = [];

const send = (path: string, request: HttpRequest): Promise<Answer> =>
  path.startsWith("/")
    ? tenants.send(path, { key: tenants.admin, ...request })
    : tenants.send(`${tenants.target.cluster}/${path}`, { key: tenants.target.key, ...request });

beforeAll(async () => {
  tenants = await startTenants({ objects: 0 });
  const definition = definitionManifest(
    { group: "deep.example", kind: "Deep", plural: "deeps" },
    {
      ...definitionVersion("v1", { type: "object", properties: { spec: open, status: open } }),
      subresources: { status: {} },
      additionalPrinterColumns: [{ name: "c", type: "string", jsonPath: ".spec.a" }],
    },
  );
  const body = { ...definition, spec: { ...definition.spec, scope: "Namespaced" } };
  expect((await send("apis/apiextensions.k8s.io/v1/customresourcedefinitions", { body })).status).toBe(201);
  await vi.waitFor(async () => expect((await send(DEEPS, { body: deepOf("one", "1") })).status).toBe(201));
});
afterAll(() => tenants?.[Symbol.asyncDispose]());

test(`objects that nest deeply are never answered as a failure of the server (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const random = randomNumbers(SEED);
  const drawn = everyCase
    ? LIMITS.flatMap((limit) => [limit - 9, limit - 1, limit, limit + 1, limit + 9])
    : LIMITS.map((limit) => limit - 12 + random(24));
  const statuses = new Map<string, Set<number>>();
  for (const [index, depth] of drawn.entries()) {
    for (const [shape, nested] of SHAPES.entries()) {
      if (!everyCase && (index + shape + SEED) % 2 === 0) continue;
      const value = nested(depth);
      for (const [what, path, request] of SENT) {
        const answer = await send(path, request(value, `d-${index}-${shape}`));
        const { status, text } = answer;
        const known = statuses.get(what) ?? new Set();
        statuses.set(what, known.add(status));
        // Wrong types at any depth are upstream's to answer so; that it is too deep is not.
        if (status >= 500 && (!isUpstreamsOwn(answer) || /too deeply|max depth|levels deep/.test(text)))
          problems.push(`${what}, shape ${shape}, depth ${depth}: ${status} ${text.slice(0, 300)}`);
      }
      // Each depth begins anew.
      await send(`${DEEPS}/one`, { method: "DELETE" });
      await send(DEEPS, { body: deepOf("one", "1") });
    }
  }
  for (const [what, found] of statuses) process.stdout.write(`${what}: ${[...found].sort().join(" ")}\n`);
  expect(problems).toEqual([]);
});
