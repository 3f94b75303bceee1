// `postern kubeconfig` as people use it: files, merging, all clusters, and the credential plugin under several releases of kubectl.

import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { adminKey } from "./testing/http-client.ts";
import { chosenKubernetesReleases, kubernetesTools } from "./testing/kubernetes-tools.ts";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import { ENTRY, NODE, type Outcome, postern, startTool, succeed, tool } from "./testing/postern-process.ts";

let server: OwnServer;
let environment: readonly string[];
let home: string;
let count = 0;

beforeAll(async () => {
  server = await startOwnServer();
  // kubectl finds the plugin by its name.
  const bin = join(server.directory, "bin");
  await mkdir(bin);
  await writeFile(join(bin, "postern"), `#!/bin/sh\nexec ${NODE} ${ENTRY} "$@"\n`);
  await chmod(join(bin, "postern"), 0o755);
  const second = { apiVersion: "management.postern/v1", kind: "VirtualClusterInstance", metadata: { name: "second" } };
  const admin = ["--kubeconfig", server.adminKubeconfig, "--namespace", "p-default"];
  await succeed(tool("kubectl", [...admin, "apply", "-f", "-"], JSON.stringify(second)));
  await succeed(tool("kubectl", [...admin, "wait", "--for=condition=Ready", "virtualclusterinstances/second"]));
});
beforeEach(async () => {
  home = join(server.directory, `home-${++count}`);
  await mkdir(home);
  environment = [`HOME=${home}`, `PATH=${join(server.directory, "bin")}:${process.env["PATH"]}`];
});
afterAll(() => server?.[Symbol.asyncDispose]());

const run = (command: string, args: readonly string[], input?: string): Promise<Outcome> =>
  tool("env", [...environment, command, ...args], input);
const kubeconfig = (...args: readonly string[]): Promise<Outcome> => run("postern", ["kubeconfig", ...args]);
const login = async (key?: string): Promise<string> =>
  succeed(
    run("postern", ["login", server.url, "--ca", server.caFile, "--name", "here"], key ?? (await adminKey(server))),
  );
const admin = (...args: readonly string[]): Promise<Outcome> =>
  postern(...args, "--kubeconfig", server.adminKubeconfig);
const keptCredentials = async (): Promise<readonly string[]> =>
  (await readdir(join(home, ".cache"), { recursive: true })).filter((name) => name.endsWith(".json"));

describe("files", () => {
  it("are for their owner alone, and hold what kubectl needs", async () => {
    await login();
    const out = join(home, "demo.kubeconfig");
    expect(await kubeconfig("demo", "--out", out, "--client-cert")).toMatchObject({ code: 0, stdout: "" });
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    expect(await succeed(run("kubectl", ["--kubeconfig", out, "auth", "whoami"]))).toContain("admin");
    // The private key that is in the file was made here: the server never had it.
    expect(await readFile(out, "utf8")).toContain("client-key-data");
  });

  it("keep what is in them when a cluster is merged into the one of kubectl", async () => {
    await login();
    const file = join(home, ".kube", "config");
    await mkdir(join(home, ".kube"));
    await writeFile(
      file,
      "# mine\napiVersion: v1\nkind: Config\ncontexts:\n- {name: old, context: {cluster: old}}\ncurrent-context: old\n",
    );
    expect((await kubeconfig("demo", "--merge")).stderr).toContain(
      `Wrote context default-demo to ${file}. It is the current context.`,
    );
    expect(await readFile(file, "utf8")).toContain("# mine");
    expect(await succeed(run("kubectl", ["config", "get-contexts", "-o", "name"]))).toBe("default-demo\nold\n");
    expect(await succeed(run("kubectl", ["get", "namespace", "default", "-o", "name"]))).toBe("namespace/default\n");
    expect((await kubeconfig("--all", "--merge")).stderr).toBe(
      `Wrote contexts default-demo, default-second to ${file}. The current context is default-demo: use them with kubectl --context default-demo.\n`,
    );
    expect(await succeed(run("kubectl", ["config", "current-context"]))).toBe("default-demo\n");
    for (const context of ["default-demo", "default-second"]) {
      expect(await succeed(run("kubectl", ["--context", context, "get", "ns", "default", "-o", "name"]))).toContain(
        "default",
      );
    }
  });

  it("are written for all others where one cluster fails, and the failure is named", async () => {
    await login();
    const broken = {
      apiVersion: "management.postern/v1",
      kind: "VirtualClusterInstance",
      metadata: { name: "broken" },
      spec: { external: true },
    };
    const args = ["--kubeconfig", server.adminKubeconfig, "--namespace", "p-default"];
    await succeed(tool("kubectl", [...args, "apply", "-f", "-"], JSON.stringify(broken)));
    const { code, stderr } = await kubeconfig("--all", "--client-cert", "--out", join(home, "all.kubeconfig"));
    await succeed(tool("kubectl", [...args, "delete", "virtualclusterinstances", "broken"]));
    expect(code).toBe(1);
    expect(stderr).toMatch(/^default\/broken: .*no ingress endpoint/);
    expect(stderr).toMatch(/\npostern: 1 of 3 virtual clusters failed\n$/);
    const contexts = ["config", "--kubeconfig", join(home, "all.kubeconfig"), "get-contexts", "-o", "name"];
    expect(await succeed(run("kubectl", contexts))).toBe("default-demo\ndefault-second\n");
  });
});

describe("the credential plugin", () => {
  const exec = (...args: readonly string[]) =>
    kubeconfig("demo", "--exec", ...args, "--out", join(home, "exec.kubeconfig"));
  const kubectl = (program: string, ...args: readonly string[]) =>
    run(program, ["--kubeconfig", join(home, "exec.kubeconfig"), ...args]);

  test.each(chosenKubernetesReleases())("serves kubectl %s, with tokens and certificates", async (release) => {
    await login();
    const { kubectl: program } = await kubernetesTools(release);
    for (const flavour of [[], ["--client-cert"]]) {
      await succeed(exec(...flavour));
      const text = await readFile(join(home, "exec.kubeconfig"), "utf8");
      expect(text).not.toMatch(/token:|client-key-data|client-certificate-data/);
      expect(await succeed(kubectl(program, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"))).toBe(
        "admin",
      );
    }
    expect(await keptCredentials()).toHaveLength(2);
  });

  it("asks the platform once for many kubectls, and keeps what it got for its owner alone", async () => {
    await login();
    await succeed(exec());
    const before = JSON.parse(await succeed(admin("credentials", "list", "-o", "json"))).length;
    const calls = Array.from({ length: 6 }, () => succeed(kubectl("kubectl", "get", "ns", "default", "-o", "name")));
    expect(new Set(await Promise.all(calls))).toEqual(new Set(["namespace/default\n"]));
    expect(JSON.parse(await succeed(admin("credentials", "list", "-o", "json"))).length).toBe(before + 1);
    const [name = ""] = await keptCredentials();
    expect((await stat(join(home, ".cache", name))).mode & 0o777).toBe(0o600);
  });

  it("gets another credential when the one that is kept was revoked, and none for a login that ended", async () => {
    const mine = (await succeed(admin("key", "create", "mine", "--ttl", "1h"))).trim();
    await login(mine);
    await succeed(exec());
    await succeed(kubectl("kubectl", "get", "ns", "default"));
    const listed = JSON.parse(await succeed(admin("credentials", "list", "--key", "mine", "-o", "json")));
    const [child] = listed.filter(({ name }: { name: string }) => name !== "mine");
    await succeed(admin("credentials", "revoke", "--yes", child.id));
    expect(await succeed(kubectl("kubectl", "get", "ns", "default", "-o", "name"))).toBe("namespace/default\n");
    await succeed(admin("key", "revoke", "--yes", "mine"));
    expect((await kubectl("kubectl", "get", "ns", "default")).stderr).toContain("(401)");
  });

  it("warns of an early expiry by hand, and keeps it out of kubectl's output", async () => {
    await login((await succeed(admin("key", "create", "brief", "--ttl", "30m"))).trim());
    const byHand = await run("postern", ["credentials", "get", "demo", "--ttl", "2h"]);
    expect(byHand).toMatchObject({ code: 0, stderr: expect.stringMatching(/^Warning: the token .*\n$/) });
    await succeed(exec());
    expect(await kubectl("kubectl", "get", "ns", "default", "-o", "name")).toMatchObject({ code: 0, stderr: "" });
    expect(await keptCredentials()).toHaveLength(2);
  });

  it.each(["one file", "a list of files", "the environment", "a login"])(
    "finds the platform of %s again where nothing is set and postern is not in the PATH",
    async (origin) => {
      const token = (await succeed(admin("key", "create", `again-${count}`, "--ttl", "1h"))).trim();
      if (origin === "a login") await login(token);
      const file = join(home, "exec.kubeconfig");
      const wanted = ["kubeconfig", "demo", "--exec", "--out", file];
      const other = join(home, "other.kubeconfig");
      await writeFile(other, "apiVersion: v1\nkind: Config\n", { mode: 0o600 });
      const variables: { readonly [origin: string]: readonly string[] } = {
        "one file": [`KUBECONFIG=${server.adminKubeconfig}`],
        "a list of files": [`KUBECONFIG=${other}:${server.adminKubeconfig}`],
        "the environment": [`POSTERN_URL=${server.url}`, `POSTERN_TOKEN=${token}`, `POSTERN_CA=${server.caFile}`],
        "a login": [],
      };
      await succeed(tool("env", [...environment, ...(variables[origin] ?? []), "postern", ...wanted]));
      const text = await readFile(file, "utf8");
      expect(text).not.toContain(token);
      expect(text).toMatch(/command: \/\S+/);
      const { kubectl: program } = await kubernetesTools("1.35");
      const bare = ["-i", `HOME=${home}`, `PATH=${dirname(NODE)}:/usr/bin:/bin`];
      // A key is no part of a kubeconfig without secrets: it stays where it was.
      const key = origin === "the environment" ? [`POSTERN_TOKEN=${token}`] : [];
      const call = tool("env", [...bare, ...key, program, "--kubeconfig", file, "get", "ns", "default", "-o", "name"]);
      expect(await succeed(call)).toBe("namespace/default\n");
    },
  );

  it("forgets what it kept with the login", async () => {
    await login();
    await succeed(exec());
    await succeed(kubectl("kubectl", "get", "ns", "default"));
    expect(await keptCredentials()).toHaveLength(1);
    await succeed(run("postern", ["logout"]));
    expect(await keptCredentials()).toHaveLength(0);
    expect((await kubectl("kubectl", "get", "ns", "default")).stderr).toContain("you are not signed in to here");
  });

  it("refuses a version of the protocol that it does not speak", async () => {
    await login();
    const info = JSON.stringify({
      apiVersion: "client.authentication.k8s.io/v1alpha1",
      kind: "ExecCredential",
      spec: {},
    });
    environment = [...environment, `KUBERNETES_EXEC_INFO=${info}`];
    expect(await run("postern", ["credentials", "get", "demo"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("v1alpha1, and only client.authentication.k8s.io/v1 and client"),
    });
  });

  it("serves a watch that outlives its credential", async () => {
    await login();
    await succeed(exec());
    const config = join(home, "exec.kubeconfig");
    using watch = startTool("env", [
      ...environment,
      "kubectl",
      "--kubeconfig",
      config,
      "get",
      "configmaps",
      "--watch",
      "-o",
      "name",
    ]);
    await expect.poll(() => watch.output()).toContain("kube-root-ca.crt");
    // The credential ends under the watch: the next call of kubectl gets another one.
    const listed = JSON.parse(
      await succeed(admin("credentials", "list", "--virtual-cluster", "default/demo", "-o", "json")),
    );
    await succeed(
      admin(
        "credentials",
        "revoke",
        "--yes",
        ...listed.filter(({ parents }: any) => parents?.length > 0).map(({ id }: any) => id),
      ),
    );
    expect(await succeed(kubectl("kubectl", "get", "ns", "default", "-o", "name"))).toBe("namespace/default\n");
  });
});
