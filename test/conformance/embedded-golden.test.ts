// The recordings once more, through virtual clusters that Postern serves: the definitions are created in them as any client does, and requests
// come by way of the platform's proxy, with access keys.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminKey } from "../e2e/testing/http-client.ts";
import { type OwnServer, startOwnServer } from "../e2e/testing/own-server.ts";
import { ACCEPTED_DEVIATIONS } from "./golden/accepted-deviations.ts";
import { EMBEDDED_DEVIATIONS } from "./golden/embedded-deviations.ts";
import { prepareScenario } from "./golden/prepare-scenario.ts";
import { replayScenario } from "./golden/replay.ts";
import { readScenarios } from "./golden/transcript.ts";
import { type ConformanceClient, createConformanceClient, type WireRequest } from "./testing/conformance-client.ts";
import { CUSTOM_RESOURCE_DEFINITIONS } from "./testing/start-server.ts";

const MANAGEMENT = "/apis/management.postern/v1";
const INSTANCES = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances`;
const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

let server: OwnServer;
let direct: ConformanceClient;
/** By the token of the recordings. */
const keys = new Map<string, string>();

async function create(client: ConformanceClient, path: string, object: object, key = "admin-token"): Promise<void> {
  const headers = { Authorization: `Bearer ${keys.get(key) ?? key}`, "Content-Type": "application/json" };
  const { status, text } = await client.send({ method: "POST", path, headers, body: JSON.stringify(object) });
  if (status !== 201) throw new Error(`cannot create ${path}: ${status} ${text}`);
}

beforeAll(async () => {
  server = await startOwnServer([]);
  direct = createConformanceClient({ url: server.url, ca: await readFile(server.caFile, "utf8") });
  keys.set("admin-token", await adminKey(server));
  for (const name of ["alice", "bob"]) {
    await create(direct, `${MANAGEMENT}/users`, { metadata: { name }, spec: { groups: ["devs"] } });
    const key = randomBytes(32).toString("base64url");
    await create(direct, `${MANAGEMENT}/ownedaccesskeys`, { metadata: { name }, spec: { user: name, key } });
    keys.set(`${name}-token`, key);
  }
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** The same requests, below the path of a virtual cluster and with keys for tokens. */
function clientInside(instance: string): ConformanceClient {
  const inside = ({ path, headers = {}, ...request }: WireRequest): WireRequest => {
    const token = headers["Authorization"]?.replace(/^Bearer /, "") ?? "";
    const key = keys.get(token);
    return {
      ...request,
      path: `/kubernetes/project/default/virtualcluster/${instance}${path}`,
      headers: key === undefined ? headers : { ...headers, Authorization: `Bearer ${key}` },
    };
  };
  return { send: (request) => direct.send(inside(request)), open: (request) => direct.open(inside(request)) };
}

/** A virtual cluster that serves the definitions of the recordings, and lets everybody in. */
async function prepareCluster(instance: string): Promise<ConformanceClient> {
  const access = [{ verbs: ["get", "use"], users: ["alice", "bob"] }];
  await create(direct, INSTANCES, { metadata: { name: instance }, spec: { access } });
  const client = clientInside(instance);
  const headers = { Authorization: "Bearer admin-token" };
  await expect
    .poll(
      async () =>
        (await client.send({ method: "GET", path: "/api/v1/namespaces/default/serviceaccounts/default", headers }))
          .status,
    )
    .toBe(200);
  for (const text of (await readFile(CUSTOM_RESOURCE_DEFINITIONS, "utf8")).split(/^---$/m)) {
    const yaml = { ...headers, "Content-Type": "application/yaml" };
    const created = await client.send({ method: "POST", path: CRDS, headers: yaml, body: text });
    expect(created.status).toBe(201);
    await expect
      .poll(async () => {
        const path = `${CRDS}/${(created.json as any).metadata.name}`;
        const { json } = await client.send({ method: "GET", path, headers });
        return (json as any).status?.conditions?.map(({ type, status }: any) => `${type}=${status}`);
      })
      .toContain("Established=True");
  }
  await create(client, "/api/v1/namespaces", { metadata: { name: "other" } });
  return client;
}

const accepted = { ...ACCEPTED_DEVIATIONS, ...EMBEDDED_DEVIATIONS };

test.each(readScenarios().map((scenario) => [`${scenario.id}: ${scenario.title}`, scenario] as const))(
  "%s",
  async (_name, scenario) => {
    const client = await prepareCluster(`golden-${scenario.id}`);
    await prepareScenario(scenario.id, client);
    const results = await replayScenario(scenario, client);
    const unexpected = results.filter(({ id, differences }) => differences.length > 0 && !(id in accepted));
    expect(unexpected).toEqual([]);
    const outdated = results.filter(({ id, differences }) => differences.length === 0 && id in EMBEDDED_DEVIATIONS);
    expect(outdated.map(({ id }) => id)).toEqual([]);
  },
);
