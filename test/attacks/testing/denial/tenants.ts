// A real server with two tenants: one who attacks, with all that a tenant may have, and one who does nothing wrong.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { adminKey, type HttpClient, httpClient } from "../../../e2e/testing/http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "../../../e2e/testing/postern-process.ts";
import { repeat, type Target } from "./attack.ts";
import { EXPENSIVE_DEFINITION } from "./request-attacks.ts";

export const API = "/apis/management.postern/v1";
const INSTANCES = `${API}/namespaces/p-tenant/virtualclusterinstances`;
const CLUSTER = "/kubernetes/project/tenant/virtualcluster/theirs";
const AT_ONCE = 20;

export type Tenants = AsyncDisposable & {
  readonly process: PosternProcess;
  readonly ca: string;
  readonly send: HttpClient;
  readonly admin: string;
  /** Keys of the one who does nothing wrong. */
  readonly good: string;
  readonly target: Target;
  /** Another key of the good user; resolves with its value. */
  newKey(name: string, spec?: object): Promise<string>;
};

export type TenantsOptions = {
  /** Objects of a kilobyte in the attacker's cluster. */
  readonly objects: number;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

export async function startTenants({ objects, flags = [], env = {} }: TenantsOptions): Promise<Tenants> {
  const directory = await temporaryDirectory();
  const server = await startPostern(join(directory.path, "data"), ["--kube-config-proxy-fallback", ...flags], {
    // Each line of the log would be kept by this process, which measures.
    env: { POSTERN_LOG_LEVEL: "error", ...env },
  });
  const send = await httpClient(server);
  const admin = await adminKey(server);
  const make = async (path: string, body: object, key = admin): Promise<any> => {
    const made = await send(path, { key, body });
    if (made.status >= 300) throw new Error(`${path}: ${made.status} ${made.text}`);
    return made.body;
  };
  const newKey = async (name: string, spec: object): Promise<string> =>
    (await make(`${API}/ownedaccesskeys`, { metadata: { name }, spec: { type: "User", ...spec } })).spec.key;
  for (const name of ["good", "mallory"]) {
    await make(`${API}/users`, { metadata: { name }, spec: { username: name } });
  }
  const owner = { user: "mallory" };
  await make(`${API}/projects`, { metadata: { name: "tenant" }, spec: { owner, allowedClusters: [{ name: "*" }] } });
  await make(INSTANCES, { metadata: { name: "theirs" }, spec: { owner } });
  while ((await send(`${INSTANCES}/theirs`, { key: admin })).body?.status?.phase !== "Ready") await turn();
  const key = await newKey("mallory", owner);
  const keys = await Promise.all(repeat(40, (index) => newKey(`mallory-${index}`, owner)));
  await make(`${CLUSTER}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`, EXPENSIVE_DEFINITION, key);
  const configMaps = `${CLUSTER}/api/v1/namespaces/default/configmaps`;
  let made = 0;
  const fill = async (): Promise<void> => {
    for (let number = made++; number < objects; number = made++) {
      const metadata = { name: `filler-${number}`, labels: { a: `v${number}`, b: "c" } };
      await make(configMaps, { metadata, data: { text: "x".repeat(800) } }, key);
    }
  };
  await Promise.all(repeat(AT_ONCE, fill));
  const { hostname, port } = new URL(server.url);
  return {
    process: server,
    ca: await readFile(server.caFile, "utf8"),
    send,
    admin,
    good: await newKey("good", { user: "good" }),
    target: {
      url: server.url,
      host: hostname,
      port: Number(port),
      ca: await readFile(server.caFile, "utf8"),
      weak: await newKey("weak", { ...owner, scope: {} }),
      key,
      keys,
      keyName: "mallory",
      cluster: CLUSTER,
      instance: `${INSTANCES}/theirs`,
    },
    newKey: (name, spec = { user: "good" }) => newKey(name, spec),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));
