// A client puts an access key where it does not belong. It is found nowhere afterwards: not in the log, the audit log, the store, the
// metrics, a trace or an answer.

import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { everyCase } from "../../tools/test-cost/by-night.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { startTraceCollector, type TraceCollector } from "../e2e/testing/trace-collector.ts";
import { type Attack, prepareAttack } from "./testing/thief.ts";

const MANAGEMENT = "/apis/management.postern/v1";
/** Of 2,300 cases, drawn at random. */
const RUNS = everyCase ? 2_000 : 120;
const INSIDE = "/kubernetes/project/default/virtualcluster/demo";

let server: OwnServer;
let attack: Attack;
let collector: TraceCollector;

beforeAll(async () => {
  collector = await startTraceCollector();
  const flags = ["--audit-log-mode", "blocking", "--failed-logins-per-minute", "0"];
  server = await startOwnServer(flags, { env: collector.env("attacked") });
  attack = await prepareAttack(server);
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
});

type Sent = {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
};

const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ["GET", "/version"],
  ["GET", "/apis"],
  ["GET", "/openapi/v2"],
  ["GET", `${MANAGEMENT}/projects`],
  ["GET", `${MANAGEMENT}/ownedaccesskeys`],
  ["POST", `${MANAGEMENT}/projects`],
  ["POST", `${MANAGEMENT}/ownedaccesskeys`],
  ["POST", `${MANAGEMENT}/selves`],
  ["PATCH", `${MANAGEMENT}/projects/default`],
  ["DELETE", `${MANAGEMENT}/teams`],
  ["POST", `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances/demo/kubeconfig`],
  ["POST", "/apis/authentication.k8s.io/v1/tokenreviews"],
  ["POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"],
  ["GET", `/kubernetes/management${MANAGEMENT}/users`],
  ["GET", `${INSIDE}/api/v1/namespaces/default/configmaps`],
  ["POST", `${INSIDE}/api/v1/namespaces/default/configmaps`],
  ["PATCH", `${INSIDE}/api/v1/namespaces/default`],
  ["GET", "/kubernetes/cluster/nowhere/api"],
  ["GET", "/nothing/here"],
];

const encodedWhole = (text: string): string => [...text].map((char) => `%${char.charCodeAt(0).toString(16)}`).join("");

/** Each puts a text into another place of a request. */
const PLACES: { readonly [place: string]: (sent: Sent, text: string) => Sent } = {
  "path segment": (sent, text) => ({ ...sent, path: `${sent.path}/${encodeURIComponent(text)}` }),
  "encoded path segment": (sent, text) => ({ ...sent, path: `${sent.path}/${encodedWhole(text)}` }),
  subresource: (sent, text) => ({ ...sent, path: `${sent.path}/name/${encodeURIComponent(text)}` }),
  ...Object.fromEntries(
    [
      "fieldManager",
      "labelSelector",
      "fieldSelector",
      "continue",
      "resourceVersion",
      "dryRun",
      "pretty",
      "as",
      "made-up",
    ].map((name) => [
      `query ${name}`,
      (sent: Sent, text: string) => ({ ...sent, path: `${sent.path}?${name}=${encodeURIComponent(text)}` }),
    ]),
  ),
  "encoded query": (sent, text) => ({ ...sent, path: `${sent.path}?labelSelector=${encodedWhole(text)}` }),
  "selector value": (sent, text) => ({ ...sent, path: `${sent.path}?labelSelector=a%3D${encodeURIComponent(text)}` }),
  "name of a parameter": (sent, text) => ({ ...sent, path: `${sent.path}?${encodeURIComponent(text)}=1` }),
  ...Object.fromEntries(
    [
      "User-Agent",
      "Audit-ID",
      "Accept",
      "Content-Type",
      "Impersonate-User",
      "Impersonate-Group",
      "Impersonate-Uid",
      "Impersonate-Extra-note",
      "X-Forwarded-For",
      "Traceparent",
      "Tracestate",
      "Baggage",
      "Origin",
      "Referer",
    ].map((name) => [
      `header ${name}`,
      (sent: Sent, text: string) => ({
        ...sent,
        headers: {
          ...sent.headers,
          ...(name.startsWith("Impersonate-") ? { "Impersonate-User": "x" } : {}),
          [name]: text,
        },
      }),
    ]),
  ),
  "trace id": (sent, text) => ({
    ...sent,
    headers: { ...sent.headers, Traceparent: `00-${text}-${"1".repeat(16)}-01` },
  }),
  "state of a trace": (sent, text) => ({
    ...sent,
    headers: {
      ...sent.headers,
      Traceparent: `00-${"1".repeat(32)}-${"1".repeat(16)}-01`,
      Tracestate: `vendor=${text}`,
    },
  }),
  "agent with a version": (sent, text) => ({
    ...sent,
    headers: { ...sent.headers, "User-Agent": `${text}/v1.0 (linux)` },
  }),
  "body that is no JSON": (sent, text) => ({ ...sent, body: `{"spec": ${text}` }),
  apiVersion: (sent, text) => ({ ...sent, body: { apiVersion: text, kind: text } }),
  "name of a member": (sent, text) => ({ ...sent, body: { spec: { [text]: 1 } } }),
  "key of a label and an annotation": (sent, text) => ({
    ...sent,
    body: { metadata: { name: "x", labels: { [text]: "a" }, annotations: { [text]: "a" } } },
  }),
  "path of a JSON patch": (sent, text) => ({
    ...sent,
    headers: { ...sent.headers, "content-type": "application/json-patch+json" },
    body: [
      { op: "add", path: `/spec/${text.replaceAll("~", "~0").replaceAll("/", "~1")}`, value: 1 },
      { op: "copy", from: `/${text}`, path: "/spec/a" },
    ],
  }),
  "set-based selector": (sent, text) => ({
    ...sent,
    path: `${sent.path}?labelSelector=${encodeURIComponent(`a in (${text},b)`)}`,
  }),
  "nested member": (sent, text) => ({ ...sent, body: { spec: { scope: { [text]: { [text]: [{ [text]: 1 }] } } } } }),
  "strict validation": (sent, text) => ({
    ...sent,
    path: `${sent.path}?fieldValidation=Strict`,
    body: { spec: { [text]: 1 } },
  }),
  "name and label": (sent, text) => ({ ...sent, body: { metadata: { name: text, labels: { a: text } } } }),
  "field of another type": (sent, text) => ({ ...sent, body: { spec: { ttl: text, disabled: text, user: [text] } } }),
};

/** With separators in it, as clients choose them; another one in each run. */
const chosen = (): string => `Zq8+${randomBytes(9).toString("hex")}/Wh.94-${randomBytes(5).toString("hex")}_M~7`;
const CHOSEN = chosen();
const OTHERS = chosen();
/** As a trace id, which nothing else tells from one. */
const HEXADECIMAL = randomBytes(16).toString("hex");

async function everythingKept(): Promise<readonly (readonly [place: string, text: string])[]> {
  const files = await readdir(server.dataDir);
  const kept = files.filter((name) => /^(audit\.log|postern\.db)/.test(name));
  const metrics = await attack.http("/metrics", { key: attack.admin });
  return [
    ["log", server.output()],
    ["metrics", metrics.text],
    ["traces", Buffer.concat(collector.received).toString("latin1")],
    ...(await Promise.all(
      kept.map(async (name) => [name, await readFile(join(server.dataDir, name), "latin1")] as const),
    )),
  ];
}

it("finds no key that was sent in any place of a request on any route (security book 38, 39)", {
  timeout: 180_000,
}, async () => {
  const made = await attack.newKey("structured", { allowPlatformCli: false });
  await attack.newKey("chosen", { key: CHOSEN });
  await attack.http(`${MANAGEMENT}/users`, { key: attack.admin, body: { metadata: { name: "other" }, spec: {} } });
  await attack.newKey("others", { key: OTHERS, user: "other" });
  await attack.newKey("hexadecimal", { key: HEXADECIMAL });
  const values = [
    ["made by the server", made, made],
    ["chosen by a client", CHOSEN, CHOSEN],
    ["chosen by somebody else", OTHERS, made],
    ["chosen of hexadecimal digits", HEXADECIMAL, made],
  ] as const;
  const leaked: string[] = [];
  const forms = (value: string): readonly string[] => [value, encodeURIComponent(value), encodedWhole(value)];
  let count = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...values),
      fc.constantFrom(...ROUTES),
      fc.constantFrom(...Object.entries(PLACES)),
      async ([whose, value, key], [method, path], [place, put]) => {
        count++;
        // A label is data of the object that it was written to, and comes back with it. Only hexadecimal digits are a label that is allowed.
        if (/^name and label|^key of a label/.test(place) && (path.endsWith("/selves") || value === HEXADECIMAL))
          return;
        const base = method === "GET" || method === "DELETE" ? {} : { body: {} };
        const patch = method === "PATCH" ? { headers: { "content-type": "application/merge-patch+json" } } : {};
        const { path: target, ...options } = put({ path, method, ...base, ...patch }, value);
        const { text, headers } = await attack.http(target, { key, ...options });
        const answer = text + JSON.stringify(headers);
        if (forms(value).some((form) => answer.includes(form)))
          leaked.push(`${whose}: answer to ${method} ${path}, ${place}`);
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  );
  // Spans are sent in the order in which they end: those of all requests before are there with this one.
  const last = randomBytes(16).toString("hex");
  const traceparent = `00-${last}-${randomBytes(8).toString("hex")}-01`;
  await attack.http("/version", { key: attack.admin, headers: { traceparent } });
  await expect.poll(() => collector.spans.some(({ traceId }) => traceId === last)).toBe(true);
  expect(collector.spans.filter(({ kind }) => kind === 2).length).toBeGreaterThan(RUNS / 2);
  for (const [place, text] of await everythingKept()) {
    for (const [whose, value] of values) {
      for (const form of forms(value)) {
        const at = text.indexOf(form);
        if (at >= 0)
          leaked.push(`${whose}: ${place}: ${text.slice(Math.max(0, at - 160), at).replaceAll(/[^ -~]/g, ".")}`);
      }
    }
  }
  expect([...new Set(leaked)]).toEqual([]);
  expect(count).toBe(RUNS);
});

it("refuses a field manager that is a key, and names none after one", async () => {
  const key = await attack.newKey("manager");
  const send = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    attack.http(path, { key: attack.admin, body: { metadata: { generateName: "m-" }, spec: {} }, headers });
  expect((await send(`${MANAGEMENT}/teams?fieldManager=${key}`)).status).toBe(400);
  expect((await send(`${MANAGEMENT}/teams?fieldManager=${encodedWhole(key)}`)).status).toBe(400);
  const { body } = await send(`${MANAGEMENT}/teams`, { "User-Agent": `${key}/v1` });
  expect(JSON.stringify(body.metadata.managedFields)).not.toContain(key.slice(15));
});
