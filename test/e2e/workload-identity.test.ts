// A pod that runs for longer than any of its credentials: the credential plugin gets each by the token of its ServiceAccount, and nothing is stored.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type AttackedServer, startAttacked } from "../attacks/testing/attacking.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { ENTRY, NODE, type Outcome, succeed, tool } from "./testing/postern-process.ts";
import { PYTHON, whyNoPythonClient } from "./testing/python.ts";

const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const ACCOUNTS = `${CLUSTER}/api/v1/namespaces/default/serviceaccounts`;
const noPython = await whyNoPythonClient();

let server: AttackedServer;
let kubectl: string;
let home: string;
let count = 0;

beforeAll(async () => {
  [server, { kubectl }] = await Promise.all([startAttacked(), kubernetesTools("1.35")]);
  await server.must({ path: "users", body: { metadata: { name: "bot" }, spec: { kind: "Bot" } } });
  const project = await server.must({ path: "projects/default" });
  const members = [...(project.spec.members ?? []), { kind: "User", name: "bot", clusterRole: "postern:project-user" }];
  await server.must({
    method: "PUT",
    path: "projects/default",
    body: { ...project, spec: { ...project.spec, members } },
  });
  const { issuer: url } = await server.must({ path: `${CLUSTER}/.well-known/openid-configuration` });
  const jwks = JSON.stringify(await server.must({ path: `${CLUSTER}/openid/v1/jwks` }));
  await server.must({ path: ACCOUNTS, body: { metadata: { name: "other" } } });
  const { metadata } = await server.must({ path: ACCOUNTS, body: { metadata: { name: "deployer" } } });
  await server.must({
    path: "clustertrustrules",
    body: {
      metadata: { name: "pods" },
      spec: {
        issuer: { preset: "kubernetes", url, jwks },
        audiences: [server.process.url],
        claims: [{ claim: "/kubernetes.io/serviceaccount/uid", values: [metadata.uid] }],
        user: "bot",
        scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
        ttl: 900,
      },
    },
  });
});
beforeEach(async () => {
  home = join(server.directory, `home-${++count}`);
  await mkdir(home);
  await project("deployer");
});
afterAll(() => server?.[Symbol.asyncDispose]());

/** As the kubelet does, before the earlier token expires. */
async function project(account: string): Promise<void> {
  const spec = { audiences: [server.process.url], expirationSeconds: 600 };
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec };
  const { status } = await server.must({ path: `${ACCOUNTS}/${account}/token`, body });
  await writeFile(join(home, "token"), status.token);
}

const pod = (variables: readonly string[], command: string, ...args: readonly string[]): Promise<Outcome> =>
  tool("env", ["-i", `HOME=${home}`, `PATH=${dirname(NODE)}:/usr/bin:/bin`, ...variables, command, ...args]);
const IDENTITY = () => [
  `POSTERN_URL=${server.process.url}`,
  `POSTERN_CA=${server.process.caFile}`,
  "POSTERN_TRUST_RULE=pods",
  `POSTERN_ID_TOKEN_FILE=${join(home, "token")}`,
];
const postern = (...args: readonly string[]): Promise<Outcome> => pod(IDENTITY(), NODE, ENTRY, ...args);
const file = (): string => join(home, "demo.kubeconfig");
const get = (...variables: readonly string[]): Promise<Outcome> =>
  pod(variables, kubectl, "--kubeconfig", file(), "get", "namespace", "default", "-o", "name");
const kept = async (): Promise<readonly string[]> =>
  (await readdir(join(home, ".cache"), { recursive: true })).filter((name) => name.endsWith(".json"));
const issuedKeys = async (): Promise<readonly any[]> =>
  (await server.must({ path: "users/bot/credentials" })).status.credentials;

it("every command signs in by the token of the pod", async () => {
  expect(JSON.parse(await succeed(postern("whoami", "-o", "json")))).toMatchObject({ user: { name: "bot" } });
  expect(await succeed(postern("status"))).toMatch(/POSTERN_URL +environment .* user bot .* ok$/m);
});

it("kubectl gets a credential by the token of the pod, and another one when that ends", async () => {
  await succeed(postern("kubeconfig", "demo", "--exec", "--out", file()));
  const text = await readFile(file(), "utf8");
  expect(text).not.toMatch(/token:|client-key-data|eyJ/);
  const before = (await issuedKeys()).length;
  for (let call = 0; call < 3; call += 1) expect(await succeed(get())).toBe("namespace/default\n");
  // One by the rule, and that of the virtual cluster, made with it.
  const issued = await issuedKeys();
  expect([issued.length - before, (await kept()).length]).toEqual([2, 1]);

  // All of them end, as after their TTL; the kubelet has replaced the token meanwhile.
  const body = { apiVersion: "management.postern/v1", kind: "CredentialLedger", spec: { all: true } };
  await server.must({ path: "users/bot/credentials", body });
  await project("deployer");
  expect(await succeed(get())).toBe("namespace/default\n");
});

it("no other pod gets what was kept for one", async () => {
  await succeed(postern("kubeconfig", "demo", "--exec", "--out", file()));
  await succeed(get());
  await project("other");
  const { code, stderr } = await get();
  expect([code, stderr]).toEqual([1, expect.stringContaining("issued no access key by the trust rule pods")]);
});

it("kubectl works where nothing can be written", async () => {
  await succeed(postern("kubeconfig", "demo", "--exec", "--out", file()));
  expect(await succeed(get("XDG_CACHE_HOME=/sys"))).toBe("namespace/default\n");
});

it.skipIf(noPython !== undefined)(`the Python client gets it too${noPython ?? ""}`, async () => {
  await succeed(postern("kubeconfig", "demo", "--exec", "--out", file()));
  const script = [
    "import sys; from kubernetes import client, config",
    "config.load_kube_config(config_file=sys.argv[1])",
    "print(client.CoreV1Api().read_namespace('default').metadata.name)",
  ].join("\n");
  expect(await succeed(pod([], PYTHON, "-c", script, file()))).toBe("default\n");
});

it.each([
  [["POSTERN_TRUST_RULE=pods"], "POSTERN_TRUST_RULE is set without POSTERN_URL"],
  [["POSTERN_URL=https://localhost"], "without POSTERN_TOKEN or POSTERN_TRUST_RULE"],
  [
    ["POSTERN_URL=https://localhost", "POSTERN_TRUST_RULE=pods"],
    "cannot find the identity of a CI job or pod: set POSTERN_ID_TOKEN to the token, or POSTERN_ID_TOKEN_FILE",
  ],
])("the command says what %j lacks", async (variables, advice) => {
  const { code, stderr } = await pod(variables, NODE, ENTRY, "whoami");
  expect([code, stderr]).toEqual([1, expect.stringContaining(advice)]);
});
