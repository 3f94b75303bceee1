// Content of the recorded stores of test/upgrade/testdata: how it is made, and how a server shows that it is all there.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HttpClient } from "../../e2e/testing/http-client.ts";

/** Of the recorded stores alone, which hold nothing of anybody's. None of them stands in a file of the repository. */
const secretOf = (name: string): string => createHash("sha256").update(`recorded store: ${name}`).digest("hex");

const RECORDER_KEY = secretOf("recorder");
const DISABLED_KEY = secretOf("disabled");
const DELETED_KEY = secretOf("deleted");

const API = "/apis/management.postern/v1";
const DEMO = "/kubernetes/project/recorded/virtualcluster/dev";
const GADGETS = `${DEMO}/apis/example.com/v1/namespaces/default/gadgets`;

const management = (kind: string, name: string, spec: object, metadata: object = {}) => ({
  apiVersion: "management.postern/v1",
  kind,
  metadata: { name, ...metadata },
  spec,
});

/** Applied at the start of the server that is recorded. */
const MANIFESTS = [
  management("User", "jane", { displayName: "Jane", subject: "jane", groups: ["devs"] }),
  management("Team", "web", { displayName: "Web", username: "web", users: ["jane"] }),
  management("Project", "recorded", {
    displayName: "Recorded",
    owner: { user: "jane" },
    allowedClusters: [{ name: "*" }],
    members: [{ kind: "Team", name: "web", clusterRole: "postern:project-user" }],
  }),
  management(
    "VirtualClusterInstance",
    "dev",
    { displayName: "Dev", owner: { user: "jane" } },
    { namespace: "p-recorded" },
  ),
  management("OwnedAccessKey", "recorder", { user: "admin", ttl: 0, key: RECORDER_KEY }),
  management("OwnedAccessKey", "disabled", { user: "jane", ttl: 0, key: DISABLED_KEY, disabled: true }),
  management("OwnedAccessKey", "deleted", { user: "jane", ttl: 0, key: DELETED_KEY }),
  management("OwnedAccessKey", "delivered", {
    user: "jane",
    ttl: 0,
    secretRef: { namespace: "p-recorded", name: "delivered" },
  }),
];

/** Writes the server key and the manifests; gives the flags of the server. */
export async function prepareRecording(dataDir: string): Promise<readonly string[]> {
  await writeServerKey(dataDir);
  const manifests = join(dataDir, "manifests");
  await mkdir(manifests);
  await writeFile(join(manifests, "all.json"), JSON.stringify({ kind: "List", items: MANIFESTS }), { mode: 0o600 });
  return ["--bootstrap-dir", manifests];
}

export async function writeServerKey(dataDir: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(join(dataDir, "server.key"), `${secretOf("server key")}\n`, { mode: 0o600 });
}

export async function writeContent(http: HttpClient): Promise<void> {
  const send = async (path: string, body: object): Promise<void> => {
    const { status, text } = await http(path, { key: RECORDER_KEY, body });
    if (status !== 201) throw new Error(`${path}: ${text}`);
  };
  const named = (apiVersion: string, kind: string, name: string, rest: object) => ({
    apiVersion,
    kind,
    metadata: { name },
    ...rest,
  });
  await send(
    "/api/v1/namespaces/p-recorded/secrets",
    named("v1", "Secret", "sealed", { stringData: { text: "sealed" } }),
  );
  await send(`${DEMO}/api/v1/namespaces/default/configmaps`, named("v1", "ConfigMap", "kept", { data: { a: "b" } }));
  const schema = {
    openAPIV3Schema: {
      type: "object",
      properties: { spec: { type: "object", properties: { size: { type: "integer" } } } },
    },
  };
  const definition = {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
    versions: [{ name: "v1", served: true, storage: true, schema }],
  };
  const definitions = `${DEMO}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`;
  await send(
    definitions,
    named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gadgets.example.com", { spec: definition }),
  );
  await untilServed(http);
  await send(GADGETS, named("example.com/v1", "Gadget", "kept", { spec: { size: 3 } }));
  const { status } = await http(`${API}/ownedaccesskeys/deleted`, { method: "DELETE", key: RECORDER_KEY });
  assert.equal(status, 200);
}

/** A definition is served a moment after it is there. */
async function untilServed(http: HttpClient): Promise<void> {
  while ((await http(GADGETS, { key: RECORDER_KEY })).status !== 200)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

/** All of it, through the API as any client reads it. */
export async function expectContent(http: HttpClient): Promise<void> {
  const read = async (path: string, key = RECORDER_KEY) => {
    const { status, body, text } = await http(path, { key });
    if (status !== 200) throw new Error(`${path}: ${text}`);
    return body;
  };
  const expectSpec = async (path: string, wanted: object): Promise<void> => {
    const { spec } = await read(`${API}/${path}`);
    const found = Object.fromEntries(Object.keys(wanted).map((name) => [name, spec[name]]));
    assert.deepEqual(found, wanted, path);
  };
  await expectSpec("users/jane", { displayName: "Jane", groups: ["devs"] });
  await expectSpec("teams/web", { users: ["jane"] });
  await expectSpec("projects/recorded", {
    owner: { user: "jane" },
    members: [{ kind: "Team", name: "web", clusterRole: "postern:project-user" }],
  });
  await expectSpec("namespaces/p-recorded/virtualclusterinstances/dev", { displayName: "Dev" });
  // Data sealed under the key ring.
  const { data: sealed } = await read("/api/v1/namespaces/p-recorded/secrets/sealed");
  assert.deepEqual(sealed, { text: Buffer.from("sealed").toString("base64") });
  // A virtual cluster with its authority, and what is in it.
  assert.deepEqual((await read(`${DEMO}/api/v1/namespaces/default/configmaps/kept`)).data, { a: "b" });
  await untilServed(http);
  assert.deepEqual((await read(`${GADGETS}/kept`)).spec, { size: 3 });
  // Keys by their digests: those that work, and those that must not.
  const { data } = await read("/api/v1/namespaces/p-recorded/secrets/delivered");
  const self = async (key: string): Promise<number> => (await http(`${API}/selves`, { key, body: {} })).status;
  assert.equal(await self(Buffer.from(data.key, "base64").toString()), 201);
  assert.equal(await self(DISABLED_KEY), 401);
  assert.equal(await self(DELETED_KEY), 401);
}
