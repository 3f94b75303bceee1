// The CA of the platform in rotation, as clients see it that trust the earlier one, both, or the new one; on one server, and on two with one etcd.

import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { decodeYaml } from "@postern/apimachinery/yaml/decode-yaml";
import { whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { adminKey } from "../e2e/testing/http-client.ts";
import {
  kubectlWith,
  type PosternProcess,
  postern,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "../e2e/testing/postern-process.ts";
import { joinValue, startAgent, writeAgentState, writeFarKubeconfig } from "../e2e/testing/tunnelled-cluster.ts";
import { startTwoOnEtcd } from "../e2e/testing/two-on-etcd.ts";
import { MANAGEMENT, type Server, startServer } from "../e2e/testing/two-posterns.ts";

const INSTANCE = "/apis/management.postern/v1/namespaces/p-default/virtualclusterinstances/demo";
const POLL = { timeout: 60_000, interval: 50 };
/** curl: the certificate of the peer does not verify. */
const UNTRUSTED = 60;

type World = { readonly servers: readonly PosternProcess[]; readonly directory: string; readonly admin: string };

/** Requests by curl, with a file of CA certificates. */
const clientOf = (world: World, turn = 0) => {
  const server = world.servers[turn % world.servers.length];
  if (server === undefined) throw new Error("no server");
  const curl = (ca: string, path: string, body?: object) =>
    tool("curl", [
      ...["--silent", "--show-error", "--cacert", ca, "--header", `authorization: Bearer ${world.admin}`],
      ...(body === undefined ? [] : ["--header", "content-type: application/json", "--data", JSON.stringify(body)]),
      `${server.url}${path}`,
    ]);
  return {
    server,
    curl,
    json: async (path: string, body?: object): Promise<any> =>
      JSON.parse(await succeed(curl(server.caFile, path, body))),
  };
};
const codes = (world: World, ca: string): Promise<readonly number[]> =>
  Promise.all(world.servers.map(async (_server, turn) => (await clientOf(world, turn).curl(ca, "/version")).code));
const certificatesIn = (pem: string): number => pem.split("BEGIN CERTIFICATE").length - 1;
const authorityOf = (kubeConfig: string): string => {
  const { cluster } = (decodeYaml(kubeConfig).value as any).clusters[0];
  return Buffer.from(cluster["certificate-authority-data"], "base64").toString();
};
const all = (world: World, code: number): readonly number[] => world.servers.map(() => code);
/** Another server takes a step within milliseconds of its event. */
const until = (world: World, ca: string, code: number) =>
  vi.waitUntil(async () => (await codes(world, ca)).every((found) => found === code), POLL);

const suite = (world: () => World): void => {
  it("is trusted with the new one while prepared, and goes when it is complete", async () => {
    const [one, other] = [clientOf(world()), clientOf(world(), 1)];
    const path = (name: string): string => join(world().directory, name);
    const old = path("old.pem");
    await copyFile(one.server.caFile, old);
    const before = await one.json(`${INSTANCE}/kubeconfig`, { spec: {} });
    await writeFile(path("before.yaml"), before.status.kubeConfig);
    expect(await one.json("/certificateauthority")).toMatchObject({ phase: "None", signing: { name: "postern-ca" } });
    const prepared = await other.json("/certificateauthority", { action: "Prepare" });
    expect(prepared).toMatchObject({ phase: "Prepared", prepared: { name: "postern-ca-2" } });
    expect(certificatesIn(prepared.bundle)).toBe(2);
    expect(JSON.stringify(prepared)).not.toContain("PRIVATE");
    await writeFile(path("bundle.pem"), prepared.bundle);
    await writeFile(path("new.pem"), prepared.bundle.slice(prepared.bundle.lastIndexOf("-----BEGIN")));
    // Keys know the second of their creation.
    const second = Date.parse(prepared.preparationTimestamp);
    await vi.waitUntil(() => Date.now() >= second + 1_000, POLL);
    const made = await other.json(`${INSTANCE}/kubeconfig`, { spec: {} });
    expect(authorityOf(made.status.kubeConfig)).toBe(prepared.bundle);
    await writeFile(path("made.yaml"), made.status.kubeConfig);
    // Of kubeconfigs from before, the one that is used is listed with its client. The server answers that kubectl reached.
    const used = (name: string) => succeed(kubectlWith(path(name), path("cache"))(["get", "namespaces", "-o", "name"]));
    await used("before.yaml");
    await used("made.yaml");
    const at = /server: (https:\/\/[^/]+)/.exec(before.status.kubeConfig)?.[1];
    const { outdated } = await (at === other.server.url ? other : one).json("/certificateauthority");
    expect(outdated).toMatchObject({ certificates: 0, accessKeys: 1, used: 1 });
    expect(outdated.items).toEqual([
      expect.objectContaining({
        ...{ kind: "AccessKey", subject: "default/demo", owner: "user/admin" },
        lastUsedFrom: { address: "127.0.0.1", userAgent: expect.stringMatching(/^kubectl\//) },
      }),
    ]);
    for (const trusted of ["old.pem", "bundle.pem"])
      expect(await codes(world(), path(trusted))).toEqual(all(world(), 0));
    expect(await codes(world(), path("new.pem"))).toEqual(all(world(), UNTRUSTED));
    const namespaces = "/kubernetes/project/default/virtualcluster/demo/api/v1/namespaces";
    const published = async () => (await one.json(`${namespaces}/default/configmaps/kube-root-ca.crt`)).data["ca.crt"];
    await vi.waitUntil(async () => (await published()) === prepared.bundle, POLL);

    const done = await one.json("/certificateauthority", { action: "Complete" });
    expect(done).toMatchObject({ phase: "Completed", signing: { name: "postern-ca-2" } });
    expect(certificatesIn(done.bundle)).toBe(1);
    await until(world(), path("old.pem"), UNTRUSTED);
    for (const trusted of ["new.pem", "bundle.pem"])
      expect(await codes(world(), path(trusted))).toEqual(all(world(), 0));
    const kubectl = kubectlWith(path("made.yaml"), path("cache"));
    expect(await succeed(kubectl(["get", "namespaces", "-o", "name"]))).toContain("namespace/default");
    for (const { server } of [one, other]) {
      await vi.waitUntil(async () => (await readFile(server.caFile, "utf8")) === done.bundle, POLL);
      const chain = await tool(
        "openssl",
        ["s_client", "-connect", server.url.slice(8), "-CAfile", path("new.pem")],
        "",
      );
      expect(chain.stdout).toContain("Verify return code: 0 (ok)");
    }
    const admin = kubectlWith(one.server.adminKubeconfig, path("cache"));
    await vi.waitUntil(async () => (await admin(["get", "users"])).code === 0, POLL);
  });

  it("goes back, takes no step that does not follow, and none of a caller without the right", async () => {
    const [one, other] = [clientOf(world()), clientOf(world(), 1)];
    const before = await one.json("/certificateauthority");
    await one.json("/certificateauthority", { action: "Prepare" });
    const aborted = await other.json("/certificateauthority", { action: "Abort" });
    expect([aborted.phase, aborted.bundle]).toEqual(["Aborted", before.bundle]);
    for (const action of ["Complete", "Abort"]) {
      expect(await one.json("/certificateauthority", { action })).toMatchObject({
        code: 409,
        message: expect.stringMatching(
          `^Operation cannot be fulfilled on the CA of the platform: no rotation of the CA is prepared.*: ${action} follows Prepare$`,
        ),
      });
    }
    expect(await one.json("/certificateauthority", { action: "Forget" })).toMatchObject({ code: 400 });
    const users = "/apis/management.postern/v1";
    await one.json(`${users}/users`, { metadata: { name: "ann" }, spec: {} });
    const keyed = await one.json(`${users}/ownedaccesskeys`, { metadata: { name: "ann" }, spec: { user: "ann" } });
    const asAnn = clientOf({ ...world(), admin: keyed.spec.key });
    for (const body of [undefined, { action: "Prepare" }])
      expect(await asAnn.json("/certificateauthority", body)).toMatchObject({ code: 403 });
  });
};

describe("the CA of one server", () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let server: PosternProcess;
  let world: World;
  const start = async (flags: readonly string[] = []) => {
    server = await startPostern(join(directory.path, "data"), flags);
    world = { servers: [server], directory: directory.path, admin: await adminKey(server) };
  };
  beforeAll(async () => {
    directory = await temporaryDirectory();
    await start();
    await vi.waitUntil(async () => (await clientOf(world).json(INSTANCE)).status?.phase === "Ready", POLL);
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await directory?.[Symbol.asyncDispose]();
  });

  suite(() => world);

  it("survives a restart, old files beside the store, and the states that a crash leaves", async () => {
    const old = {
      crt: await readFile(join(server.dataDir, "ca.crt")),
      key: await readFile(join(server.dataDir, "ca.key")),
    };
    await clientOf(world).json("/certificateauthority", { action: "Prepare" });
    const done = await clientOf(world).json("/certificateauthority", { action: "Complete" });
    await writeFile(join(directory.path, "last.pem"), done.bundle);
    const last = { crt: Buffer.from(done.bundle), key: await readFile(join(server.dataDir, "ca.key")) };
    // As a deployment writes them from its Secret; between the writes of a step; and as they should be.
    for (const [crt, key] of [
      [old.crt, old.key],
      [Buffer.concat([last.crt, old.crt]), old.key],
      [Buffer.concat([last.crt, old.crt]), last.key],
      [last.crt, last.key],
    ] as const) {
      await server.stop();
      await writeFile(join(server.dataDir, "ca.crt"), crt);
      await writeFile(join(server.dataDir, "ca.key"), key);
      await start();
      expect(await codes(world, join(directory.path, "last.pem"))).toEqual([0]);
      expect(await readFile(server.caFile, "utf8")).toBe(done.bundle);
    }
  });

  it("rotates from the command line, which asks", async () => {
    const run = (...args: readonly string[]) =>
      postern("ca", "rotate", "--kubeconfig", server.adminKubeconfig, ...args);
    expect(await succeed(run("--prepare"))).toMatch(
      /^Prepared: the earlier CA postern-ca-\d+ signs, .*new kubeconfigs trust the new CA postern-ca-/,
    );
    expect((await run("--complete")).stderr).toContain("--yes");
    expect(await succeed(run("--complete", "--yes"))).toMatch(/^Completed: the CA postern-ca-\d+ signs/);
    expect(await succeed(run("--status"))).toMatch(/^Completed: /);
    const { stdout } = await clientOf(world).curl(server.caFile, "/metrics");
    expect(stdout).toMatch(/^postern_serving_authority_expiration_timestamp_seconds \d+$/m);
  });
});

describe("an agent of a connected cluster", () => {
  it("learns of the new CA with its next key, and connects again after the earlier one has gone", async () => {
    await using directory = await temporaryDirectory();
    await using near: Server = await startServer(join(directory.path, "near"));
    const ask = (action: string) => near.http("/certificateauthority", { key: near.key, body: { action } });
    const kubeconfig = await writeFarKubeconfig(near, join(directory.path, "edge.kubeconfig"));
    const stateFile = await writeAgentState(
      near,
      join(directory.path, "edge-agent.key"),
      await joinValue(near, "edge"),
    );
    const agent = startAgent({ stateFile, kubeconfig });
    const isOnline = async () => (await near.send(`${MANAGEMENT}/clusters/edge`)).status?.online === true;
    await vi.waitUntil(isOnline, POLL);
    const { bundle } = (await ask("Prepare")).body;
    const flags = ["--kubeconfig", near.process.adminKubeconfig];
    await succeed(postern("cluster", "rotate", "edge", ...flags));
    const known = async () => JSON.parse(await readFile(stateFile, "utf8"))["ca.crt"];
    await vi.waitUntil(async () => (await known()) === bundle, POLL);
    // The kubeconfig of the agent's own cluster, which is here the same server, has the earlier CA alone.
    const fresh = await writeFarKubeconfig(near, join(directory.path, "fresh.kubeconfig"));
    await agent.stop();
    await vi.waitUntil(async () => !(await isOnline()), POLL);
    expect((await ask("Complete")).status).toBe(200);
    await using again = startAgent({ stateFile, kubeconfig: fresh });
    const client = { servers: [near.process], directory: directory.path, admin: near.key };
    await vi.waitUntil(
      async () => (await clientOf(client).json(`${MANAGEMENT}/clusters/edge`)).status?.online === true,
      POLL,
    );
    expect(again.output()).not.toContain("self-signed");
  });
});

describe.skipIf(whyNoEtcd() !== undefined)("the CA of two servers on one etcd", () => {
  let two: Awaited<ReturnType<typeof startTwoOnEtcd<PosternProcess>>>;
  let world: World;
  beforeAll(async () => {
    two = await startTwoOnEtcd(startPostern, []);
    world = { servers: two.servers, directory: two.directory, admin: await adminKey(two.servers[0]) };
    await vi.waitUntil(async () => (await clientOf(world).json(INSTANCE)).status?.phase === "Ready", POLL);
  });
  afterAll(() => two?.[Symbol.asyncDispose]());

  suite(() => world);
});
