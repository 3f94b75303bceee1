// The CA and the ServiceAccount key of a virtual cluster in rotation: what is trusted in each phase, and what is refused from the answer on.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adminKey, type HttpClient, httpClient } from "../e2e/testing/http-client.ts";
import {
  kubectlWith,
  type PosternProcess,
  postern,
  type RunningTool,
  startPostern,
  startTool,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";
import { startTwoOnEtcd, type TwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";

const INSTANCE = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo";
const AUTHORITY = `${INSTANCE}/certificateauthority`;
const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";
const DEFAULT = "/api/v1/namespaces/default";
const POLL = { timeout: 60_000, interval: 50 };

/** One or two servers of one store; a request without a turn goes to the first. */
type World = {
  readonly servers: readonly PosternProcess[];
  readonly directory: string;
  readonly admin: string;
  send(turn: number, path: string, options?: Parameters<HttpClient>[1]): ReturnType<HttpClient>;
};

async function worldOf(servers: readonly PosternProcess[], directory: string): Promise<World> {
  const [first] = servers;
  if (first === undefined) throw new Error("no server");
  const clients = await Promise.all(servers.map((server) => httpClient(server)));
  const admin = await adminKey(first);
  const send: World["send"] = (turn, path, options = {}) => {
    const client = clients[turn % clients.length];
    if (client === undefined) throw new Error("no server");
    return client(path, { key: admin, ...options });
  };
  await vi.waitUntil(async () => (await send(0, INSTANCE)).body.status?.phase === "Ready", POLL);
  return { servers, directory, admin, send };
}

const suites = (world: () => World): void => {
  const rotate = async (action: string | undefined, turn = 0) => {
    const made = await world().send(turn, AUTHORITY, { body: { spec: action === undefined ? {} : { action } } });
    return { code: made.status, status: made.body.status };
  };
  /** Files of a kubeconfig with a certificate. */
  const issue = async (name: string, turn = 0): Promise<string> => {
    const made = await world().send(turn, `${INSTANCE}/kubeconfig`, {
      body: { spec: { clientCert: true, certificateTTL: 3600 } },
    });
    expect(made.status, made.text).toBe(201);
    const path = join(world().directory, name);
    const { user } = (decodeYaml(made.body.status.kubeConfig).value as any).users[0];
    await writeFile(`${path}.yaml`, made.body.status.kubeConfig);
    await writeFile(`${path}.pem`, Buffer.from(user["client-certificate-data"], "base64"));
    await writeFile(`${path}.key`, Buffer.from(user["client-key-data"], "base64"));
    return path;
  };
  const curlArgs = (certificate: string, path: string, server: PosternProcess) => [
    ...["--silent", "--no-buffer", "--cacert", server.caFile, "--cert", `${certificate}.pem`],
    ...["--key", `${certificate}.key`, `${server.url}${CLUSTER}${path}`],
  ];
  /** The status that curl gets of each server, with a certificate. */
  const byCertificate = (certificate: string): Promise<readonly string[]> =>
    Promise.all(
      world().servers.map((server) =>
        succeed(
          tool("curl", [
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            ...curlArgs(certificate, `${DEFAULT}/configmaps`, server),
          ]),
        ),
      ),
    );
  const byToken = async (token: string): Promise<readonly string[]> =>
    await Promise.all(
      world().servers.map(async (_server, turn) => {
        const path = `${CLUSTER}/apis/authentication.k8s.io/v1/selfsubjectreviews`;
        const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
        return String((await world().send(turn, path, { key: token, body })).status);
      }),
    );
  const all = (code: string): readonly string[] => world().servers.map(() => code);
  const tokenOf = async (turn = 0): Promise<string> => {
    const path = `${CLUSTER}${DEFAULT}/serviceaccounts/default/token`;
    const made = await world().send(turn, path, {
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } },
    });
    expect(made.status, made.text).toBe(201);
    return made.body.status.token;
  };
  const secretToken = async (turn = 0): Promise<string> => {
    const { body } = await world().send(turn, `${CLUSTER}${DEFAULT}/secrets/robot`);
    return Buffer.from(body.data?.token ?? "", "base64").toString();
  };
  const watch = (certificate: string, turn: number): RunningTool => {
    const server = world().servers[turn % world().servers.length];
    if (server === undefined) throw new Error("no server");
    return startTool("curl", curlArgs(certificate, `${DEFAULT}/configmaps?watch=true`, server));
  };
  const keySet = async (): Promise<number> => (await world().send(0, `${CLUSTER}/openid/v1/jwks`)).body.keys.length;

  it("trusts both while it is prepared, and refuses what the earlier one signed once it is complete", async () => {
    const last = world().servers.length - 1;
    const old = await issue("old");
    const oldToken = await tokenOf();
    const annotations = { "kubernetes.io/service-account.name": "default" };
    const secret = { metadata: { name: "robot", annotations }, type: "kubernetes.io/service-account-token" };
    expect((await world().send(0, `${CLUSTER}${DEFAULT}/secrets`, { body: secret })).status).toBe(201);
    await vi.waitUntil(async () => (await secretToken()) !== "", POLL);
    const oldSecret = await secretToken();
    using oldWatch = watch(old, last);
    await vi.waitUntil(() => oldWatch.output().includes("kube-root-ca.crt"), POLL);

    const prepared = await rotate("Prepare", last);
    expect(prepared.code).toBe(201);
    expect(prepared.status).toMatchObject({ phase: "Prepared", outdated: { certificates: 1, tokenSecrets: 1 } });
    const ids = prepared.status.outdated.items.map(({ kind, id }: any) => `${kind} ${id}`);
    expect(ids).toEqual([expect.stringMatching(/^Certificate serial:/), "Secret default/robot"]);
    const withoutUses = ({ code, status }: typeof prepared) => {
      const items = status.outdated.items.map(({ lastActivity: _at, lastUsedFrom: _from, ...item }: any) => item);
      return { code, status: { ...status, outdated: { ...status.outdated, items } } };
    };
    expect(withoutUses(await rotate("Prepare"))).toEqual(withoutUses(prepared));
    const [fresh, freshToken] = [await issue("fresh", 1), await tokenOf(1)];
    for (const certificate of [old, fresh]) expect(await byCertificate(certificate)).toEqual(all("200"));
    for (const token of [oldToken, oldSecret, freshToken]) expect(await byToken(token)).toEqual(all("201"));
    expect(await keySet()).toBe(2);
    expect(oldWatch.isOver()).toBe(false);
    // The one that was used is named with its client, before others; what another server saw comes within a minute.
    await issue("unused", 1);
    const { outdated } = (await rotate(undefined)).status;
    expect(outdated).toMatchObject({ certificates: 1, used: 1 });
    const from = { address: "127.0.0.1", userAgent: expect.stringMatching(/^curl\//) };
    expect(outdated.items[0]).toMatchObject({ kind: "Certificate", lastUsedFrom: from });
    expect(Date.parse(outdated.items[0].lastActivity)).toBeGreaterThan(Date.now() - 600_000);
    // The first certificate of the bundle is the new CA, and both are in the ConfigMap of extension API servers.
    const bundle = join(world().directory, "bundle.pem");
    await writeFile(bundle, prepared.status.bundle);
    const verify = (certificate: string) => tool("openssl", ["verify", "-CAfile", bundle, `${certificate}.pem`]);
    for (const certificate of [old, fresh]) expect((await verify(certificate)).stdout).toContain("OK");
    const published = `${CLUSTER}/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication`;
    await vi.waitUntil(
      async () => (await world().send(1, published)).body.data["client-ca-file"] === prepared.status.bundle,
      POLL,
    );

    const done = await rotate("Complete");
    expect(done).toMatchObject({ code: 201, status: { phase: "Completed", outdated: { certificates: 0 } } });
    expect(done.status.previous).toBeUndefined();
    expect(await byCertificate(old)).toEqual(all("401"));
    expect(await byCertificate(fresh)).toEqual(all("200"));
    for (const token of [oldToken, oldSecret]) expect(await byToken(token)).toEqual(all("401"));
    expect(await byToken(freshToken)).toEqual(all("201"));
    expect(await keySet()).toBe(1);
    await vi.waitUntil(() => oldWatch.isOver(), POLL);
    await vi.waitUntil(async () => (await secretToken(1)) !== oldSecret, POLL);
    expect(await byToken(await secretToken())).toEqual(all("201"));
    const kubectl = kubectlWith(`${fresh}.yaml`, join(world().directory, "cache"));
    expect(await succeed(kubectl(["get", "configmaps", "-o", "name"]))).toContain("kube-root-ca.crt");
    expect((await kubectlWith(`${old}.yaml`, join(world().directory, "cache"))(["get", "configmaps"])).code).toBe(1);
    await writeFile(bundle, done.status.bundle);
    expect((await verify(old)).code).not.toBe(0);
    expect((await verify(fresh)).stdout).toContain("OK");
  });

  it("goes back to the earlier one, and refuses what the new one signed", async () => {
    const before = (await rotate(undefined)).status;
    const [kept, keptToken] = [await issue("kept"), await tokenOf()];
    await rotate("Prepare");
    const [lost, lostToken] = [await issue("lost", 1), await tokenOf(1)];
    using lostWatch = watch(lost, 1);
    await vi.waitUntil(() => lostWatch.output().includes("kube-root-ca.crt"), POLL);
    const aborted = await rotate("Abort", 1);
    expect(aborted.status).toMatchObject({ phase: "Aborted", signing: before.signing });
    expect([await byCertificate(kept), await byCertificate(lost)]).toEqual([all("200"), all("401")]);
    expect([await byToken(keptToken), await byToken(lostToken)]).toEqual([all("201"), all("401")]);
    await vi.waitUntil(() => lostWatch.isOver(), POLL);
    // A number is never given twice: the CA of the next preparation has another name than the aborted one.
    const again = await rotate("Prepare");
    expect(again.status.signing.name).not.toBe(before.signing.name);
    expect(await byCertificate(lost)).toEqual(all("401"));
    await rotate("Abort");
  });

  it("takes no step that does not follow, and none of a caller without the right", async () => {
    for (const action of ["Complete", "Abort"]) expect((await rotate(action)).code).toBe(409);
    expect((await rotate("Forget")).code).toBe(422);
    const users = "/apis/management.postern/v1";
    const made = await world().send(0, `${users}/users`, { body: { metadata: { name: "member" }, spec: {} } });
    expect(made.status, made.text).toBe(201);
    const project = `${users}/projects/default`;
    const members = [{ kind: "User", name: "member", clusterRole: "postern:project-user" }];
    const headers = { "content-type": "application/merge-patch+json" };
    const joined = await world().send(0, project, { method: "PATCH", headers, body: { spec: { members } } });
    expect(joined.status, joined.text).toBe(200);
    const spec = { user: "member", type: "User" };
    const keyed = await world().send(0, `${users}/ownedaccesskeys`, { body: { metadata: { name: "member" }, spec } });
    const { key } = keyed.body.spec;
    expect((await world().send(0, INSTANCE, { key })).status).toBe(200);
    expect((await world().send(0, AUTHORITY, { key })).status).toBe(403);
    expect((await world().send(0, AUTHORITY, { key, body: { spec: { action: "Prepare" } } })).status).toBe(403);
    const dry = await world().send(0, `${AUTHORITY}?dryRun=All`, { body: { spec: { action: "Prepare" } } });
    expect([dry.status, dry.body.status.phase]).toEqual([201, "Aborted"]);
  });

  it("loses no request of a client with a new certificate while steps are taken", async () => {
    let round = 0;
    let isOver = false;
    const refused: string[] = [];
    const steps = (async () => {
      for (; round < 4; round++) {
        await rotate("Prepare", round);
        const path = await issue(`round-${round}`, round + 1);
        const codes = await byCertificate(path);
        if (codes.some((code) => code !== "200")) refused.push(`new ${codes}`);
        await rotate("Complete", round);
        if ((await byCertificate(path)).some((code) => code !== "200")) refused.push("kept");
      }
      isOver = true;
    })();
    const token = world().admin;
    while (!isOver) {
      const { status } = await world().send(round, `${CLUSTER}${DEFAULT}/configmaps`, { key: token });
      if (status !== 200) refused.push(`key ${status}`);
    }
    await steps;
    expect(refused).toEqual([]);
  });

  it("does the same for the ServiceAccount key of a space, and leaves that of the virtual cluster", async () => {
    const spaces = "/apis/management.postern/v1/namespaces/p-default/spaceinstances";
    const inside = "/kubernetes/project/default/space/team/api/v1/namespaces/team";
    const last = world().servers.length - 1;
    const made = await world().send(0, spaces, { body: { metadata: { name: "team" } } });
    expect(made.status, made.text).toBe(201);
    await vi.waitUntil(async () => (await world().send(0, `${spaces}/team`)).body.status?.phase === "Ready", POLL);
    await vi.waitUntil(async () => (await world().send(0, `${inside}/serviceaccounts/default`)).status === 200, POLL);
    const take = async (turn: number, action: string): Promise<any> =>
      (await world().send(turn, `${spaces}/team/certificateauthority`, { body: { spec: { action } } })).body;
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } };
    const tokenInSpace = async (turn: number): Promise<string> =>
      (await world().send(turn, `${inside}/serviceaccounts/default/token`, { body: request })).body.status.token;
    /** 403: known, and without a role; 401: refused. */
    const bySpace = (token: string): Promise<readonly string[]> =>
      Promise.all(
        world().servers.map(async (_server, turn) =>
          String((await world().send(turn, `${inside}/configmaps`, { key: token })).status),
        ),
      );
    const [old, elsewhere] = [await tokenInSpace(0), await tokenOf()];
    expect(await bySpace(old)).toEqual(all("403"));
    expect((await take(last, "Prepare")).status).toMatchObject({ phase: "Prepared", outdated: { tokenSecrets: 0 } });
    const fresh = await tokenInSpace(1);
    for (const token of [old, fresh]) expect(await bySpace(token)).toEqual(all("403"));
    expect((await take(0, "Complete")).status.phase).toBe("Completed");
    expect([await bySpace(old), await bySpace(fresh)]).toEqual([all("401"), all("403")]);
    expect(await byToken(elsewhere)).toEqual(all("201"));
    expect(await take(0, "Abort")).toMatchObject({ code: 409 });
    // Its kubeconfigs lead through the platform; a virtual cluster of that name is another object.
    expect((await world().send(0, AUTHORITY.replace("demo", "team"))).status).toBe(404);
    const [server] = world().servers;
    const flags = ["--kubeconfig", server?.adminKubeconfig ?? "", "--space", "default/team"];
    expect(await succeed(postern("ca", "rotate", ...flags, "--status"))).toMatch(/^Completed: /);
  });

  it("does the same from the command line, and tells the audit log and Events", async () => {
    const [server] = world().servers;
    if (server === undefined) throw new Error("no server");
    const flags = ["--kubeconfig", server.adminKubeconfig, "--virtual-cluster", "default/demo"];
    const run = (...args: readonly string[]) => postern("ca", "rotate", ...flags, ...args);
    const kept = await issue("cli");
    expect(await succeed(run("--prepare"))).toMatch(
      /^Prepared: the new CA vc-\S+-ca-\d+ signs, until .*; the earlier CA vc-\S+-ca\S* is trusted for \d+ certificates? and \d+ token Secrets?;/,
    );
    expect(await byCertificate(kept)).toEqual(all("200"));
    const shown = await succeed(run("--status"));
    expect(shown).toContain("certificates used since: 1");
    expect(shown).toMatch(/^serial:\S+ +Certificate .* 127\.0\.0\.1 +curl\//m);
    const preparations = async (): Promise<readonly string[]> =>
      (await world().send(0, "/metrics")).text.match(/^postern_authority_rotation_prepared_\S+\{\S+ \d+$/gm) ?? [];
    expect(await preparations()).toEqual([expect.stringContaining('{authority="clusters"} ')]);
    expect((await run("--complete")).stderr).toContain("--yes");
    expect(await succeed(run("--complete", "--yes"))).toMatch(/^Completed: .*rotated at/);
    expect(await preparations()).toEqual([]);
    expect(await byCertificate(kept)).toEqual(all("401"));
    expect((await run("--complete", "--yes")).stderr).toContain(
      'virtualclusterinstances.management.postern "demo": no rotation of the CA is prepared',
    );
    expect((await run("--prepare", "--abort")).code).not.toBe(0);
    expect((await run()).stderr).toContain("--prepare");
    const kubectl = kubectlWith(server.adminKubeconfig, join(world().directory, "admin-cache"));
    const listed = await succeed(kubectl(["get", "vci", "demo", "-n", "p-default", "-o", "wide"]));
    expect(listed).toMatch(/CA ROTATION[\s\S]*Completed/);
    const events = async () => (await kubectl(["get", "events", "-n", "p-default", "-o", "name"])).stdout;
    await vi.waitUntil(async () => (await events()).includes("event/"), POLL);
    const reasons = ["-o", "jsonpath={.items[*].reason}"];
    const found = await succeed(kubectl(["get", "events", "-n", "p-default", ...reasons]));
    expect(found).toContain("CertificateAuthorityRotated");
  });
};

describe.each([
  ["in the thread of the server", []],
  ["in a cluster thread", ["--cluster-threads", "1"]],
] as const)("a virtual cluster %s", (_where, flags) => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: PosternProcess;
  let world: World;
  beforeAll(async () => {
    directory = await temporaryDirectory();
    server = await startPostern(join(directory.path, "data"), [...flags, "--failed-logins-per-minute", "0"]);
    world = await worldOf([server], directory.path);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  suites(() => world);

  it("keeps the step over a restart, and nothing secret in its store", async () => {
    const body = { spec: { action: "Prepare" } };
    const prepared = (await world.send(0, AUTHORITY, { body })).body.status;
    await server.stop();
    server = await startPostern(server.dataDir, [...flags]);
    world = await worldOf([server], directory.path);
    const { status } = (await world.send(0, AUTHORITY)).body;
    expect([status.phase, status.signing, status.previous]).toEqual(["Prepared", prepared.signing, prepared.previous]);
    const stored = await readFile(join(server.dataDir, "postern.db"), "latin1").catch(() => "");
    expect(stored).not.toContain("BEGIN PRIVATE KEY");
  });
});

describe.skipIf(whyNoEtcd() !== undefined)("a virtual cluster of two servers on one etcd", () => {
  let two: TwoOnEtcd<PosternProcess>;
  let world: World;
  beforeAll(async () => {
    two = await startTwoOnEtcd(startPostern, ["--failed-logins-per-minute", "0"]);
    world = await worldOf(two.servers, two.directory);
  });
  afterAll(() => two?.[Symbol.asyncDispose]());

  suites(() => world);
});
