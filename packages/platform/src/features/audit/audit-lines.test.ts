// The lines of the audit log, character by character, for requests of every kind: whatever is made faster must leave them as they are.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type PlatformAnswer,
  type PlatformCall,
  type RunningPlatform,
  startPlatform,
} from "../../testing/running-platform.ts";
import { temporaryDirectory } from "../../testing/temporary-directory.ts";

const PROJECTS = "/apis/management.postern/v1/projects";
const KEYS = "/apis/management.postern/v1/ownedaccesskeys";
const VIRTUAL_CLUSTER = "/kubernetes/project/p1/virtualcluster/v1";
const EVERYTHING = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
  - {level: RequestResponse, resources: [{group: management.postern, resources: [projects]}], omitManagedFields: true}
  - {level: Request, verbs: [delete]}
  - {level: Metadata}
`;
const project = (name: string) => ({ metadata: { name }, spec: { displayName: 'a "b" \\ é 𝄞 \u2028 <&>' } });
/** No key, but of the form of a credential that is known by it. */
const jwt = ["eyJhbGciOiJSUzI1NiJ9", Buffer.from(JSON.stringify({ iss: "x".repeat(40) })).toString("base64url")].join(
  ".",
);

const CALLS: readonly PlatformCall[] = [
  { path: PROJECTS, body: project("p1") },
  { path: PROJECTS, body: project("p1") },
  { path: PROJECTS, body: { metadata: { generateName: "p-" }, spec: {} } },
  { path: `${PROJECTS}?dryRun=All&fieldManager=me`, body: project("p2") },
  { path: `${PROJECTS}/p1` },
  { path: `/kubernetes/management${PROJECTS}/p1?pretty=1` },
  { path: `${PROJECTS}/p1`, method: "HEAD" },
  { path: `${PROJECTS}/p1`, headers: { "user-agent": 'agent "x" \\ é\t' } },
  { path: `${PROJECTS}/p1`, headers: { "user-agent": "a".repeat(2000) } },
  { path: `${PROJECTS}/p1`, headers: { "user-agent": `tool ${jwt}.c2lnbmF0dXJl` } },
  { path: `${PROJECTS}/%C3%A9%20%22` },
  { path: `${PROJECTS}/none` },
  { path: `${PROJECTS}?labelSelector=a%3Db&limit=3&unknown=secret` },
  { path: `${PROJECTS}?fieldSelector=metadata.name%3Dp1` },
  { path: `${PROJECTS}/p1`, method: "PATCH", body: { metadata: { labels: { a: "b" } } } },
  { path: `${PROJECTS}/p1/status`, method: "PATCH", body: { status: {} } },
  { path: `${PROJECTS}/p1`, method: "PUT", body: { metadata: { name: "p1", resourceVersion: "1" }, spec: {} } },
  { path: `${PROJECTS}/p1?timeout=x` },
  { path: `${PROJECTS}/p1`, key: "" },
  { path: `${PROJECTS}/p1`, key: "pst_aaaaaaaaaa_unknown" },
  { path: `${PROJECTS}/p1`, key: "", headers: { authorization: "Bearer  two-spaces" } },
  { path: `${PROJECTS}/p1`, key: "", headers: { authorization: "Basic amFuZTpqYW5l" } },
  { path: PROJECTS, body: "{" },
  { path: "/api/v1/namespaces/p-p1/configmaps", body: { metadata: { name: "c" }, data: { a: "b" } } },
  { path: "/api/v1/namespaces/p-p1/secrets", body: { metadata: { name: "s" }, stringData: { a: "hidden" } } },
  { path: "/api/v1/namespaces/p-p1/secrets/s" },
  { path: KEYS, body: { metadata: { name: "k1" }, spec: { user: "admin" } } },
  { path: `${KEYS}/k1`, headers: { "impersonate-user": "jane", "impersonate-group": "a,b" } },
  { path: `${KEYS}/k1`, headers: { "impersonate-extra-x": "y" } },
  { path: `${KEYS}/k1/rotate`, body: {} },
  { path: "/apis/management.postern/v1/selves", body: {} },
  { path: "/healthz" },
  { path: "/version" },
  { path: "/nothing/here" },
  { path: "/apis" },
  { path: "/openapi/v2", method: "OPTIONS" },
  { path: `${PROJECTS}/..%2fx` },
  { path: `${PROJECTS}/p1`, headers: { "content-type": "text/plain" }, method: "PATCH", body: {} },
  { path: `${VIRTUAL_CLUSTER}/api/v1/pods` },
  { path: `${VIRTUAL_CLUSTER}/api/v1/namespaces/d/pods/x?watch=1`, key: "" },
  { path: `${VIRTUAL_CLUSTER}/a%2Fb` },
  { path: "/kubernetes/project/p1" },
  { path: "/kubernetes/cluster/none/version", key: "pst_aaaaaaaaaa_unknown" },
  { path: "/leaks", body: { keys: ["none"] }, key: "" },
  { path: `${PROJECTS}?watch=1&timeoutSeconds=1` },
  { path: `${PROJECTS}/p1`, method: "DELETE", body: { propagationPolicy: "Background" } },
  { path: KEYS, method: "DELETE" },
];

const OPEN_CLUSTER = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces/default";
const INSTANCES = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances";
const TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews";
const APPLIED = { apiVersion: "management.postern/v1", kind: "Project", metadata: { name: "p1" } };
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const patch = (type: string, path: string, body: unknown): PlatformCall => ({
  method: "PATCH",
  path,
  body,
  headers: { "content-type": `application/${type}` },
});

/** Calls with credentials in their bodies, calls that act as another, each kind of patch, and answers of a virtual cluster. */
const MORE_CALLS: readonly (PlatformCall | ((platform: RunningPlatform) => PlatformCall))[] = [
  { path: PROJECTS, body: project("p1") },
  patch("merge-patch+json", `${PROJECTS}/p1`, { metadata: { labels: { a: "b" } } }),
  patch("merge-patch+json", `${PROJECTS}/p1?dryRun=All`, { metadata: { labels: { never: "stored" } } }),
  patch("json-patch+json", `${PROJECTS}/p1`, [{ op: "add", path: "/metadata/labels/c", value: "d" }]),
  patch("json-patch+json", `${PROJECTS}/p1`, [{ op: "test", path: "/metadata/labels/c", value: "no" }]),
  patch("strategic-merge-patch+json", `${PROJECTS}/p1`, { metadata: { labels: { e: "f" } } }),
  patch("apply-patch+yaml", `${PROJECTS}/p1?fieldManager=me`, { ...APPLIED, spec: { description: "mine" } }),
  patch("apply-patch+yaml", `${PROJECTS}/p1?fieldManager=other`, { ...APPLIED, spec: { description: "theirs" } }),
  { path: PROJECTS, body: { metadata: { name: "p2" }, spec: { displayName: 5 } } },
  { path: `${PROJECTS}?fieldValidation=Strict`, body: { metadata: { name: "p2" }, spec: { nonsense: 1 } } },
  { path: `${PROJECTS}?watch=1&timeoutSeconds=1&labelSelector=a%3Db` },
  { path: "/apis/management.postern/v1/users", body: { metadata: { name: "jane" }, spec: {} } },
  { path: KEYS, body: { metadata: { name: "k1" }, spec: { user: "jane" } } },
  { path: KEYS, body: { metadata: { name: "k2" }, spec: { user: "jane", key: "chosen-by-a-client-0123456789-XYZ" } } },
  patch("merge-patch+json", `${KEYS}/k1`, { spec: { disabled: true } }),
  { path: `${PROJECTS}/p1`, headers: { "impersonate-user": "jane" } },
  { path: KEYS, headers: { "impersonate-user": "jane", "impersonate-uid": "u", "impersonate-extra-x%2Fy": "z" } },
  { path: `${PROJECTS}/p1`, headers: { "impersonate-user": "x", "impersonate-group": "system:masters" } },
  ({ adminKey }) => ({ path: TOKEN_REVIEWS, body: { spec: { token: adminKey } } }),
  { path: TOKEN_REVIEWS, body: { spec: { token: "wrong" } } },
  { path: "/login/key", body: { key: "wrong" }, key: "" },
  { path: "/login/callback/none?code=hidden&state=x", key: "" },
  { path: "/login/token", key: "", headers: FORM, body: "grant_type=device_code&device_code=hidden" },
  { path: "/oauth/token", key: "", headers: FORM, body: `grant_type=none&subject_token=${jwt}.c2ln` },
  { path: `${INSTANCES}/demo/kubeconfig`, body: { spec: {} } },
  { path: `${INSTANCES}/demo/kubeconfig`, body: { spec: { clientCert: true } } },
  { path: `${INSTANCES}/none/kubeconfig`, body: { spec: {} } },
  { path: OPEN_CLUSTER },
  { path: `${OPEN_CLUSTER}/configmaps`, body: { metadata: { name: "c" }, data: { a: "b" } } },
  { path: `${OPEN_CLUSTER}/secrets`, body: { metadata: { name: "s" }, stringData: { a: "hidden" } } },
  { path: `${OPEN_CLUSTER}/serviceaccounts/default/token`, body: { spec: {} } },
  patch("merge-patch+json", `${OPEN_CLUSTER}/configmaps/c`, { data: { c: "d" } }),
  { path: `${OPEN_CLUSTER}/configmaps?watch=1&timeoutSeconds=1` },
  {
    path: `${OPEN_CLUSTER}/pods/x/exec?command=hidden&stdin=1`,
    headers: { connection: "Upgrade", upgrade: "websocket" },
  },
  { path: OPEN_CLUSTER, headers: { "impersonate-user": "jane" } },
  { path: `${OPEN_CLUSTER}/configmaps`, method: "DELETE" },
  { path: `${PROJECTS}/p1?dryRun=All`, method: "DELETE" },
  { path: `${PROJECTS}/p1`, method: "DELETE", body: { preconditions: { uid: "other" } } },
  { path: `${KEYS}?labelSelector=none`, method: "DELETE" },
  { path: KEYS, method: "DELETE", headers: { "impersonate-user": "jane" } },
];

const VARYING: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UUID"],
  [/[0-9a-f]{64}/g, "HASH"],
  [/pst_[a-z0-9]+/g, "KEY"],
  [/"(credential-id|access-key-id)":"[^"]*"/g, '"$1":"ID"'],
  [
    /(authentication\.kubernetes\.io\/(?:issued-)?credential-id":|authentication\.postern\/access-key-id":\[)"[^"]*"/g,
    '$1"ID"',
  ],
  [/"resourceVersion":"\d+"/g, '"resourceVersion":"N"'],
  [/"name":"p-[a-z0-9]{5}"/g, '"name":"p-XXXXX"'],
  [/("key(Preview|Prefix|Id|ID)?":)"[^"]*"/g, '$1"X"'],
];

const isReady = ({ body }: PlatformAnswer): boolean => body.status?.phase === "Ready";

async function linesOf(platform: RunningPlatform, calls: typeof MORE_CALLS = CALLS): Promise<readonly string[]> {
  for (const [at, given] of calls.entries()) {
    const call = typeof given === "function" ? given(platform) : given;
    const asked = { ...call, headers: { "user-agent": "lines", "Audit-ID": `call-${at}`, ...call.headers } };
    if (call.path.includes("watch=1")) await (await platform.open(asked)).ended;
    else {
      const { status, body } = await platform.send(asked);
      const isMade = status === 201 && call.path === PROJECTS;
      // A controller completes it, and later bodies have what it wrote.
      if (isMade) await platform.until({ path: `${PROJECTS}/${body.metadata.name}` }, isReady);
    }
  }
  const last = `call-${calls.length - 1}`;
  for (;;) {
    const lines = (await readFile(join(platform.directory, "audit.log"), "utf8")).split("\n");
    const own = lines.filter((line) => /"auditID":"call-\d+"/.test(line));
    const isWhole = own.some((line) => line.includes(`"${last}"`) && line.includes('"stage":"ResponseComplete"'));
    if (isWhole)
      return own.map((line) => VARYING.reduce((text, [pattern, by]) => text.replace(pattern, by), line)).sort();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test.each(["batch", "blocking", "blocking-strict"])("are these in the mode %s", async (mode) => {
  await using platform = await startPlatform({ "audit-log-mode": mode });
  await expect((await linesOf(platform)).join("\n")).toMatchFileSnapshot(
    `./testing/audit-lines/${mode === "blocking" ? "batch" : mode}.txt`,
  );
});

test("are these where bodies are kept", async () => {
  await using folder = await temporaryDirectory();
  const policy = join(folder.path, "policy.yaml");
  await writeFile(policy, EVERYTHING);
  await using platform = await startPlatform({ "audit-policy-file": policy });
  await expect((await linesOf(platform)).join("\n")).toMatchFileSnapshot("./testing/audit-lines/bodies.txt");
});

test("are these for credentials, patches, impersonation and virtual clusters, with all bodies", async () => {
  await using folder = await temporaryDirectory();
  const policy = join(folder.path, "policy.yaml");
  await writeFile(policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n");
  await using platform = await startPlatform({ "audit-policy-file": policy });
  await platform.until({ path: OPEN_CLUSTER }, ({ status }) => status === 200);
  const lines = (await linesOf(platform, MORE_CALLS)).join("\n");
  expect(lines).not.toMatch(/hidden|chosen-by-a-client/);
  await expect(lines).toMatchFileSnapshot("./testing/audit-lines/credentials-and-patches.txt");
});
