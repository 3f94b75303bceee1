// A real server with two tenants: one who attacks, with all that a tenant may have, and one who does nothing wrong.

import { API, type AttackedServer, startAttackedServer } from "../attacked-server.ts";
import { repeat, type Target } from "./attack.ts";
import { EXPENSIVE_DEFINITION } from "./request-attacks.ts";

const INSTANCES = `${API}/namespaces/p-tenant/virtualclusterinstances`;
const CLUSTER = "/kubernetes/project/tenant/virtualcluster/theirs";
const AT_ONCE = 20;

export type Tenants = AttackedServer & { readonly target: Target };

export type TenantsOptions = {
  /** Objects of a kilobyte in the attacker's cluster. */
  readonly objects: number;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The beginning of the command line of the server. */
  readonly run?: readonly string[] | undefined;
};

export async function startTenants({ objects, flags = [], env = {}, run }: TenantsOptions): Promise<Tenants> {
  const server = await startAttackedServer(["--kube-config-proxy-fallback", ...flags], { store: [], env, run });
  const { send, admin, newKey } = server;
  const make = async (path: string, body: object, key = admin): Promise<any> => {
    const made = await send(path, { key, body });
    if (made.status >= 300) throw new Error(`${path}: ${made.status} ${made.text}`);
    return made.body;
  };
  const owner = { user: "attacker" };
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
  const ca = server.ca.toString();
  return {
    ...server,
    target: {
      url: server.url,
      host: new URL(server.url).hostname,
      port: server.port,
      ca,
      weak: await newKey("weak", { ...owner, scope: {} }),
      key,
      keys,
      keyName: "mallory",
      cluster: CLUSTER,
      instance: `${INSTANCES}/theirs`,
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));
