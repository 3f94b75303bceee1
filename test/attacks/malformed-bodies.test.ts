// Bodies with values of wrong types, sent to everything that takes a body: they are refused, or they are taken, and the server never stumbles.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type PlatformAnswer,
  type PlatformCall,
  type RunningPlatform,
  startPlatform,
} from "../../packages/platform/src/testing/running-platform.ts";
import { customResources } from "./testing/custom-resources.ts";
import { isUnreachable, isUpstreamsOwn } from "./testing/known-failures.ts";
import { createMalformedCalls, type RecordedBody } from "./testing/malformed-calls.ts";
import { minimalObject } from "./testing/minimal-objects.ts";
import { jsonText } from "./testing/random-values.ts";
import { type ServedOperation, servedOperations } from "./testing/served-operations.ts";
import { NAMESPACES, SURFACES, startWithWorkloads } from "./testing/served-surfaces.ts";

const REQUESTS = Number(process.env["POSTERN_MALFORMED_BODIES"] ?? 300);
const SEED = Number(process.env["TEST_SEED"]);
const IN_FLIGHT = 8;

/** Of creations that need another object: a policy that offers the access, the pod that is bound. */
const OTHER_STATUS: { readonly [kind: string]: readonly number[] } = { AccessRequest: [403], Binding: [404] };

describe.each(["management", "embedded"] as const)(`${REQUESTS} malformed bodies, seed ${SEED}: %s`, (name) => {
  let platform: RunningPlatform;
  let operations: readonly ServedOperation[];
  beforeAll(async () => {
    platform = await startWithWorkloads();
    if (name === "embedded") await customResources(platform, SURFACES[name]);
    operations = await servedOperations(platform, SURFACES[name]);
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  it("are never answered as a failure of the server", { timeout: 360_000 + REQUESTS * 100 }, async () => {
    // A Binding is sound only where there is its pod.
    const seeds = operations.filter(
      ({ method, subresource, kind }) => method === "POST" && subresource === "" && kind !== "Binding",
    );
    const seed = async ({ path, apiVersion, kind }: ServedOperation): Promise<PlatformAnswer> =>
      await platform.send({
        path: path.replace("{namespace}", NAMESPACES[name]),
        body: jsonText(minimalObject(apiVersion, kind, "fuzz", NAMESPACES[name])),
      });
    const refused: string[] = [];
    for (const operation of seeds) {
      const { status, text } = await seed(operation);
      // The records of keys are those of owned keys, which are there by then.
      if (![201, 409, ...(OTHER_STATUS[operation.kind] ?? [])].includes(status))
        refused.push(`${operation.id} ${text}`);
    }
    expect(refused).toEqual([]);

    const recorded = await recordedBodies();
    const next = createMalformedCalls(operations, {
      namespace: NAMESPACES[name],
      random: randomNumbers(SEED),
      recorded,
    });
    const failures = new Map<string, string>();
    const statuses = new Map<number, number>();
    let left = REQUESTS;
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left--;
        const { operation, call } = next();
        const answer = await platform.send(call);
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        if (answer.status >= 500 && !isUpstreamsOwn(answer) && !isUnreachable(answer)) {
          const text = `${answer.status} ${answer.text.slice(0, 300)}\n  ${operation.id} ${describeCall(call)}`;
          failures.set(`${operation.id} ${answer.text.slice(0, 120)}`, text);
        }
        if (left % 5 === 0) await seed(seeds[left % seeds.length] as ServedOperation);
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
    expect([...failures.values()].slice(0, 60).join("\n")).toBe("");
    // Nothing that was stored made a part of the server fail behind the requests' back.
    const log = await readFile(join(platform.directory, "server.log"), "utf8");
    const faults = log.split("\n").filter((line) => /"level":"(error|fatal)"|panicked|hook failed/.test(line));
    expect(faults.slice(0, 10).join("\n").slice(0, 5000)).toBe("");
    // A property that nothing meets would hold as well.
    for (const status of [200, 201, 400, 422])
      expect(statuses.get(status) ?? 0).toBeGreaterThan(Math.floor(REQUESTS / 400));
    const kinds = new Set(operations.map(({ kind }) => kind));
    if (name === "embedded") expect([...kinds]).toEqual(expect.arrayContaining(["OwnedAccessKey", "Widget"]));
  });
});

async function recordedBodies(): Promise<readonly RecordedBody[]> {
  const folder = new URL("../../packages/apimachinery/src/protobuf/testdata/", import.meta.url);
  const files = ["protobuf-builtin-kinds.json", "protobuf-reviews.json"];
  const texts = await Promise.all(files.map((file) => readFile(new URL(file, folder), "utf8")));
  return texts.flatMap((text) =>
    JSON.parse(text).cases.map(({ json: { kind }, base64 }: any) => ({ kind, bytes: Buffer.from(base64, "base64") })),
  );
}

describe("a value of a wrong type that code used to stumble over", () => {
  let platform: RunningPlatform;
  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform[Symbol.asyncDispose]());

  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  it.each<[path: string, status: number, spec: object]>([
    ["users", 422, { spec: { groups: "a" } }],
    ["users", 422, { spec: { groups: [{}] } }],
    ["users", 422, { spec: { clusterRoles: 5, groups: [[]] } }],
    ["teams", 422, { spec: { groups: [{ name: 5 }] } }],
    ["teams", 422, { spec: { users: "a" } }],
    ["ownedaccesskeys", 422, { spec: { scope: { roles: [null] } } }],
    ["ownedaccesskeys", 422, { spec: { scope: { projects: "a", rules: [[]] } } }],
    ["ownedaccesskeys", 422, { spec: { key: { a: null } } }],
    ["ownedaccesskeys", 422, { spec: 5 }],
    ["/apis/storage.postern/v1/accesskeys", 422, { spec: { user: "admin", key: 5 } }],
    ["projects", 422, { spec: { members: [null] } }],
    ["namespaces/p-default/virtualclusterinstances", 422, { spec: { extraAccessRules: 5 } }],
    ["namespaces/p-default/virtualclusterinstances", 422, { spec: { extraAccessRules: [{ users: "a" }] } }],
    ["namespaces/p-default/spaceinstances", 422, { spec: { owner: "a" } }],
    ["selves", 422, { spec: { accessKey: 5 } }],
    ["/api/v1/namespaces/default/secrets", 400, { stringData: { port: 5432 } }],
    ["/api/v1/namespaces/default/secrets", 400, { stringData: { a: { b: null } } }],
    [`${rbac}/clusterrolebindings`, 422, { roleRef: { kind: "ClusterRole", name: "a" }, subjects: [null] }],
    [`${rbac}/clusterroles`, 422, { aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{}] }] } }],
    [`${rbac}/clusterroles`, 422, { rules: [null] }],
  ])("is refused: %s answers %i to %j", async (path, status, fields) => {
    const answer = await platform.send({ path, body: { metadata: { name: "wrong" }, ...fields } });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining('"reason"')]);
    const merged = { path: `${path}/wrong`, method: "PATCH", body: fields };
    expect((await platform.send(merged)).status).toBe(path === "selves" ? 405 : 404);
  });

  // Of kube-apiserver 1.24, word by word.
  it.each<[spec: unknown, status: number, text: string]>([
    [
      { audiences: "a" },
      400,
      "cannot unmarshal string into Go struct field TokenRequestSpec.spec.audiences of type []string",
    ],
    [
      { expirationSeconds: "1h" },
      400,
      "string into Go struct field TokenRequestSpec.spec.expirationSeconds of type int64",
    ],
    [5, 400, "cannot unmarshal number into Go struct field TokenRequest.spec of type v1.TokenRequestSpec"],
    [{ boundObjectRef: [] }, 400, "TokenRequestSpec.spec.boundObjectRef of type v1.BoundObjectReference"],
    [
      { expirationSeconds: 599 },
      422,
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599',
    ],
    [{ audiences: [null] }, 201, ""],
    [null, 201, ""],
  ])("is refused where a token is asked for as kube-apiserver refuses it: %j", async (spec, status, text) => {
    const path = `${SURFACES.embedded}/api/v1/namespaces/default/serviceaccounts/default/token`;
    const answer = await platform.send({ path, body: { spec } });
    expect([answer.status, answer.body.message ?? ""]).toEqual([status, expect.stringContaining(text)]);
  });

  it("is refused in every way to change an object, and changes nothing", async () => {
    await platform.create("users", { metadata: { name: "sound" }, spec: { email: "a@example.com" } });
    const path = "users/sound";
    const before = await platform.send({ path });
    const whole = { ...before.body, spec: { groups: "a" } };
    const changes: [string, unknown][] = [
      ["application/merge-patch+json", { spec: { groups: "a" } }],
      ["application/json-patch+json", [{ op: "add", path: "/spec/groups", value: { a: 1 } }]],
    ];
    for (const [type, body] of changes) {
      const answer = await platform.send({ path, method: "PATCH", body, headers: { "content-type": type } });
      expect([type, answer.status, answer.body.reason]).toEqual([type, 422, "Invalid"]);
    }
    expect((await platform.send({ path, method: "PUT", body: whole })).status).toBe(422);
    expect((await platform.send({ path: `${path}?dryRun=All`, method: "PUT", body: whole })).status).toBe(422);
    expect((await platform.send({ path })).body).toEqual(before.body);
  });
});

const describeCall = ({ path, body, headers }: PlatformCall): string =>
  `${path} ${headers?.["content-type"] ?? ""} ${String(body).slice(0, 400)}`;
