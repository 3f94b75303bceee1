// The chart of this project, installed by a real helm into an embedded cluster that keeps workloads.

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { kubectlWith, succeed, tool } from "./testing/postern-process.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

const CHART = new URL("../../deploy/charts/postern", import.meta.url).pathname;

let clusters: TenantClusters;
let config: string;
beforeAll(async () => {
  clusters = await startTenantClusters();
  ({ config } = await clusters.create("charts", { workloads: "stored" }));
});
afterAll(() => clusters?.[Symbol.asyncDispose]());

const ETCD = [
  "--set=store.type=etcd,store.etcd.endpoints={etcd:2379},store.etcd.identitySecret=identity",
  "--set=externalHostname=postern.example.com,tls.secret=serving",
];

describe.each([
  ["on SQLite, a StatefulSet that mounts its claim", "statefulset", []],
  ["on etcd, a Deployment with a certificate of its own", "deployment", ETCD],
])("the chart %s", (_what, workload, values) => {
  it.each(["1.32", "1.35"] as const)("is installed, changed and uninstalled by the helm of %s", async (release) => {
    const namespace = `own-${release.replace(".", "-")}-${workload}`;
    const tools = await kubernetesTools(release);
    const homes = ["CACHE", "CONFIG", "DATA"].map(
      (home) => `HELM_${home}_HOME=${join(clusters.directory, namespace, home)}`,
    );
    const helm = (...args: string[]) =>
      succeed(tool("env", [...homes, tools.helm, "--kubeconfig", config, "-n", namespace, ...args]));
    const run = kubectlWith(config, join(clusters.directory, namespace, "cache"), tools.kubectl);
    const made = async () => JSON.parse(await succeed(run(["-n", namespace, "get", workload, "-o", "json"]))).items;
    const imageOf = (each: any) => each.spec.template.spec.containers[0].image;

    expect(await helm("install", "own", CHART, "--create-namespace", ...values)).toContain("STATUS: deployed");
    expect(await made()).toHaveLength(1);
    const changed = ["--set=image.tag=2.0.0", ...values];
    expect(await helm("upgrade", "own", CHART, ...changed)).toContain("STATUS: deployed");
    expect((await made()).map(imageOf)).toEqual(["postern:2.0.0"]);
    await helm("uninstall", "own");
    expect(await made()).toEqual([]);
  });
});

it("the chart of the agent is installed with a join value, and keeps the key that the agent wrote", async () => {
  const chart = new URL("../../deploy/charts/postern-agent", import.meta.url).pathname;
  const tools = await kubernetesTools("1.35");
  const run = kubectlWith(config, join(clusters.directory, "agent", "cache"), tools.kubectl);
  const homes = ["CACHE", "CONFIG", "DATA"].map(
    (home) => `HELM_${home}_HOME=${join(clusters.directory, "agent", home)}`,
  );
  const helm = (...args: string[]) =>
    succeed(tool("env", [...homes, tools.helm, "--kubeconfig", config, "-n", "postern-agent", ...args]));
  const entry = (name: string) =>
    succeed(run(["-n", "postern-agent", "get", "secret", "postern-agent", "-o", `jsonpath={.data.${name}}`]));
  const values = ["--set=platform=https://postern.example.com,joinValue=once"];
  expect(await helm("install", "agent", chart, "--create-namespace", ...values)).toContain("STATUS: deployed");
  expect(Buffer.from(await entry("join"), "base64").toString()).toBe("once");
  const written = JSON.stringify({ data: { key: Buffer.from("kept").toString("base64"), join: null } });
  await succeed(run(["-n", "postern-agent", "patch", "secret", "postern-agent", "--type", "merge", "-p", written]));
  await helm("upgrade", "agent", chart, "--set=replicas=3");
  expect([await entry("key"), await entry("join")]).toEqual([Buffer.from("kept").toString("base64"), ""]);
  expect(Buffer.from(await entry("server"), "base64").toString()).toBe("https://postern.example.com");
  expect(
    await succeed(
      run(["-n", "postern-agent", "get", "deployment", "postern-agent", "-o", "jsonpath={.spec.replicas}"]),
    ),
  ).toBe("3");
});
