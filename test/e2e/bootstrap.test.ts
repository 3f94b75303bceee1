// Bootstrap manifests with what operators have: kubectl that edits in between, and two servers that start at once on one etcd.

import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEtcd, whyNoEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { expect, it } from "vitest";
import { httpClient } from "./testing/http-client.ts";
import {
  ENTRY,
  kubectlWith,
  NODE,
  startPostern,
  succeed,
  temporaryDirectory,
  tool,
} from "./testing/postern-process.ts";
import { durableStoreFlags } from "./testing/stores.ts";

const MANIFESTS = `# Who may come in first, and what is there for them.
apiVersion: management.postern/v1
kind: OwnedAccessKey
metadata:
  name: gitops
  annotations:
    postern/bootstrap-file: gitops.kubeconfig
spec: {displayName: GitOps, user: gitops, ttl: 0}
---
apiVersion: management.postern/v1
kind: VirtualClusterInstance
metadata: {name: staging, namespace: p-shop}
spec: {displayName: Staging, owner: {user: gitops}}
---
apiVersion: management.postern/v1
kind: Project
metadata: {name: shop}
spec:
  displayName: Shop
  owner: {user: gitops}
  allowedClusters: [{name: "*"}]
  members:
  - {kind: User, name: jane, clusterRole: "postern:project-user"}
---
apiVersion: management.postern/v1
kind: User
metadata: {name: gitops}
spec: {displayName: GitOps, subject: gitops, groups: ["postern:admins"]}
---
apiVersion: management.postern/v1
kind: User
metadata: {name: jane}
spec: {displayName: Jane, subject: jane}
`;
const OBJECTS = 5;

it("keeps an administrator's edits with kubectl, reports them, and resets them on request", async () => {
  await using directory = await temporaryDirectory();
  const file = (name: string): string => join(directory.path, name);
  await mkdir(file("manifests"));
  await writeFile(file("manifests/all.yaml"), MANIFESTS);
  const dataDir = file("data");
  const flags = [...durableStoreFlags(dataDir), "--bootstrap-dir", file("manifests")];
  const kubectl = kubectlWith(join(dataDir, "bootstrap/gitops.kubeconfig"), file("cache"));
  const specOf = async (name: string) => JSON.parse(await succeed(kubectl(["get", name, "-o", "json"]))).spec;
  {
    await using server = await startPostern(dataDir, flags);
    await expect.poll(() => server.output()).toContain("all.yaml, document 5 (line 30): created");
    // kubectl edit with an editor that does not ask.
    await writeFile(file("editor.sh"), "#!/bin/sh\nexec sed -i 's/displayName: Shop/displayName: The Shop/' \"$1\"\n", {
      mode: 0o700,
    });
    await succeed(
      tool("env", [
        `KUBE_EDITOR=${file("editor.sh")}`,
        ...["kubectl", "--kubeconfig", join(dataDir, "bootstrap/gitops.kubeconfig"), "edit", "project", "shop"],
      ]),
    );
    expect((await specOf("project/shop")).displayName).toBe("The Shop");
    await succeed(kubectl(["label", "user", "jane", "team=web"]));
    await succeed(kubectl(["delete", "virtualclusterinstance", "staging", "-n", "p-shop"]));
  }
  await writeFile(file("manifests/all.yaml"), MANIFESTS.replace("project-user", "project-viewer"));
  {
    await using server = await startPostern(dataDir, flags);
    const spec = await specOf("project/shop");
    expect(spec).toMatchObject({
      displayName: "The Shop",
      members: [{ name: "jane", clusterRole: "postern:project-viewer" }],
    });
    const drifts = () => server.output().match(/.*fields have been changed by others.*/g) ?? [];
    await expect.poll(drifts).toHaveLength(1);
    const told = drifts();
    expect(told[0]).toContain('"level":"warn"');
    expect(told[0]).toMatch(/all\.yaml, document 3 \(line 15\).*the changes are kept/);
    expect(told[0]).toContain(".spec.displayName");
    expect(told[0]).toContain("kubectl-edit");
    // Deleted objects are there again, and fields that others have added stay.
    await succeed(kubectl(["wait", "--for=condition=Ready", "vci/staging", "-n", "p-shop", "--timeout=60s"]));
    expect(await succeed(kubectl(["get", "user", "jane", "-o", "jsonpath={.metadata.labels.team}"]))).toBe("web");
    await expect.poll(() => succeed(kubectl(["get", "events", "-A"]))).toContain("BootstrapDrift");
    const metrics = await succeed(kubectl(["get", "--raw", "/metrics"]));
    expect(metrics).toContain('postern_bootstrap_manifests{state="drifted"} 1');
  }
  await using _server = await startPostern(dataDir, [...flags, "--bootstrap-drift", "overwrite"]);
  expect((await specOf("project/shop")).displayName).toBe("Shop");
});

it("a server with a broken manifest ends with one line and exit code 1, and changes nothing", async () => {
  await using directory = await temporaryDirectory();
  await writeFile(join(directory.path, "users.yaml"), `${MANIFESTS}---\nkind: User\napiVersion: v1\nmetadata: {}\n`);
  const dataDir = join(directory.path, "data");
  const { code, stderr } = await tool(NODE, [
    ...[ENTRY, "serve", "--secure-port", "0", "--data-dir", dataDir, "--bootstrap-dir", directory.path],
  ]);
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^postern: the bootstrap manifests in \S+ cannot be applied: users\.yaml, document 6 \(line 35\): metadata\.name: .*\n$/,
  );
  expect(await readdir(dataDir)).not.toContain("postern.db");
});

it.skipIf(whyNoEtcd() !== undefined)("two servers that start at once on one etcd make everything once", async () => {
  await using directory = await temporaryDirectory();
  const file = (name: string): string => join(directory.path, name);
  await mkdir(file("manifests"));
  await writeFile(file("manifests/all.yaml"), MANIFESTS);
  {
    // Servers that share a store share an identity.
    await using _first = await startPostern(file("identity"), ["--store", "memory"]);
  }
  const dataDirs = [file("one"), file("two")];
  for (const dataDir of dataDirs) {
    await mkdir(dataDir, { mode: 0o700 });
    for (const name of ["server.key", "ca.crt", "ca.key"])
      await copyFile(join(file("identity"), name), join(dataDir, name));
  }
  await using etcd = await startEtcd();
  const flags = ["--store", `etcd://${etcd.endpoints.join(",")}`, "--bootstrap-dir", file("manifests")];
  const start = () => Promise.all(dataDirs.map((dataDir) => startPostern(dataDir, flags)));
  const created = (output: string): number => output.split(": created").length - 1;
  const versions = async (kubeConfig: string): Promise<readonly string[]> => {
    const kubectl = kubectlWith(kubeConfig, file("cache"));
    const objects = ["user/gitops", "user/jane", "project/shop", "ownedaccesskey/gitops"];
    const metadata = objects.map((name) => succeed(kubectl(["get", name, "-o", "jsonpath={.metadata.generation}"])));
    return await Promise.all(metadata);
  };
  const servers = await start();
  await using one = servers[0];
  await using two = servers[1];
  await expect.poll(() => created(one?.output() ?? "") + created(two?.output() ?? "")).toBe(OBJECTS);
  expect([one, two].map((server) => created(server?.output() ?? "")).sort()).toEqual([0, OBJECTS]);
  const maker = created(one?.output() ?? "") > 0 ? one : two;
  const other = maker === one ? two : one;
  const kubeConfig = join(maker?.dataDir ?? "", "bootstrap/gitops.kubeconfig");
  expect(await versions(kubeConfig)).toEqual(["1", "1", "1", "1"]);
  expect(await readdir(join(other?.dataDir ?? "", "bootstrap")).catch(() => [])).toEqual([]);
  for (const server of [one, two]) {
    expect(server?.output()).not.toContain("others have changed");
    if (server === undefined) continue;
    const token = /token: (\S+)/.exec(await readFile(kubeConfig, "utf8"))?.[1] ?? "";
    const http = await httpClient(server);
    expect((await http("/apis/management.postern/v1/projects/shop", { key: token })).status).toBe(200);
  }
});
