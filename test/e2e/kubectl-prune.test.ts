// `kubectl apply --prune` and `kubectl diff --prune` without an allowlist, with kubectl of several releases: they list every kind of their own list.

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type KubectlSession, kubectlSession } from "./testing/kubectl-clients.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

let clusters: TenantClusters;
let config: string;
beforeAll(async () => {
  clusters = await startTenantClusters();
  ({ config } = await clusters.create("pruned", { workloads: "stored" }));
});
afterAll(() => clusters?.[Symbol.asyncDispose]());

const labels = (release: string) => ({ app: `a${release.replace(".", "-")}` });
const object = (release: string, apiVersion: string, kind: string, name: string, more: object = {}): any => ({
  apiVersion,
  kind,
  metadata: { name: `${name}-${release.replace(".", "-")}`, namespace: "default", labels: labels(release) },
  ...more,
});
const list = (...items: readonly object[]): string => JSON.stringify({ apiVersion: "v1", kind: "List", items });

describe.each(["1.32", "1.34", "1.35"] as const)("kubectl %s", (release) => {
  let kubectl: KubectlSession;
  beforeAll(async () => {
    const tools = await kubernetesTools(release);
    kubectl = kubectlSession(
      () => config,
      () => join(clusters.directory, `cache-${release}`),
      tools.kubectl,
    );
  });
  const selector = `app=${labels(release).app}`;
  const template = {
    metadata: { labels: labels(release) },
    spec: { containers: [{ name: "c", image: "i:1" }] },
  };
  const kept = object(release, "v1", "ConfigMap", "kept");
  const others = [
    object(release, "v1", "Secret", "gone"),
    object(release, "v1", "ReplicationController", "gone", { spec: { template } }),
    object(release, "apps/v1", "Deployment", "gone", {
      spec: { template, selector: { matchLabels: labels(release) } },
    }),
    object(release, "networking.k8s.io/v1", "Ingress", "gone", {
      spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } } },
    }),
  ];

  test("applies, shows what would be pruned, and prunes it", async () => {
    await kubectl.run(`apply -l ${selector} --prune -f -`, list(kept, ...others));
    const shown = await kubectl([..."diff --prune".split(" "), "-l", selector, "-f", "-"], list(kept));
    expect(shown.code, shown.stderr).toBe(1);
    for (const { kind } of others) expect(shown.stdout).toContain(`-kind: ${kind}\n`);
    const pruned = await kubectl.run(`apply -l ${selector} --prune -f -`, list(kept));
    for (const { kind, metadata } of others) {
      expect(pruned).toMatch(new RegExp(`^${kind.toLowerCase()}\\S*/${metadata.name} pruned$`, "m"));
    }
    expect(await kubectl.run(`diff --prune -l ${selector} -f -`, list(kept))).toBe("");
  });

  test("scales, shows and explains a ReplicationController", async () => {
    const name = `web-${release.replace(".", "-")}`;
    const made = object(release, "v1", "ReplicationController", "web", { spec: { template } });
    await kubectl.run("create -f -", JSON.stringify(made));
    await kubectl.run(`scale rc ${name} --replicas=3`);
    expect(await kubectl.run(`get rc ${name} -o wide`)).toMatch(
      new RegExp(
        `^NAME +DESIRED +CURRENT +READY +AGE +CONTAINERS +IMAGES +SELECTOR\\n${name} +3 +0 +0 +\\S+ +c +i:1 +${selector}\\n$`,
      ),
    );
    expect((await kubectl.json(`get rc ${name} --subresource=status`)).spec.selector).toEqual(labels(release));
    expect(await kubectl.run("explain rc.spec.selector")).toContain(
      "Label keys and values that must match in order to be controlled by",
    );
    expect(await kubectl.run(`get all -l ${selector} -o name`)).toBe(`replicationcontroller/${name}\n`);
    await kubectl.run(`delete rc ${name} --cascade=foreground`);
  });

  test("keeps the kinds that charts bring along as objects", async () => {
    const suffix = release.replace(".", "-");
    const group = `g${suffix}.example.com`;
    const items = [
      {
        apiVersion: "apiregistration.k8s.io/v1",
        kind: "APIService",
        metadata: { name: `v1beta1.${group}` },
        spec: {
          group,
          version: "v1beta1",
          service: { namespace: "default", name: "metrics" },
          groupPriorityMinimum: 100,
          versionPriority: 100,
        },
      },
      {
        apiVersion: "node.k8s.io/v1",
        kind: "RuntimeClass",
        metadata: { name: `gvisor-${suffix}` },
        handler: "runsc",
        overhead: { podFixed: { memory: "64Mi" } },
      },
      {
        apiVersion: "storage.k8s.io/v1",
        kind: "CSIDriver",
        metadata: { name: `csi-${suffix}.example.com` },
        spec: { tokenRequests: [{ audience: "vault" }] },
      },
    ];
    for (let time = 0; time < 2; time++) await kubectl.run("apply -f -", list(...items));
    await kubectl.run("apply --server-side --force-conflicts -f -", list(...items));
    // Typed creates send protobuf.
    expect(await kubectl.run("diff -f -", list(...items))).toBe("");
    expect(await kubectl.run(`get apiservice v1beta1.${group}`)).toMatch(
      new RegExp(`^NAME +SERVICE +AVAILABLE +AGE\\nv1beta1.${group} +default/metrics +Unknown +\\S+\\n$`),
    );
    expect(await kubectl.run(`get runtimeclass gvisor-${suffix}`)).toMatch(/^NAME +HANDLER +AGE\n\S+ +runsc +\S+\n$/);
    expect(await kubectl.run(`get csidriver csi-${suffix}.example.com`)).toMatch(
      /^NAME +ATTACHREQUIRED +PODINFOONMOUNT +STORAGECAPACITY +TOKENREQUESTS +REQUIRESREPUBLISH +MODES +AGE\n\S+ +true +false +false +vault +false +Persistent +\S+\n$/,
    );
    expect(await kubectl.fails(`patch runtimeclass gvisor-${suffix} --type=merge -p {"handler":"other"}`)).toContain(
      'handler: Invalid value: "other": field is immutable',
    );
    await kubectl.run("delete -f -", list(...items));
  });
});

test("faults of these kinds have the words of Kubernetes", async () => {
  const { kubectl } = await clusters.open("pruned");
  const refused = async (items: object) => await kubectl.fails("create -f -", JSON.stringify(items));
  expect(
    await refused({
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1.other" },
      spec: { group: "g.example.com", version: "v1", groupPriorityMinimum: 20_001, versionPriority: 0 },
    }),
  ).toMatch(/must be `spec.version\+"."\+spec.group`[\s\S]*groupPriorityMinimum[\s\S]*versionPriority/);
  expect(
    await refused({ apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata: { name: "r" }, handler: "a/b" }),
  ).toContain('handler: Invalid value: "a/b"');
  expect(
    await refused({
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: "c" },
      spec: { volumeLifecycleModes: ["Sometimes"], fsGroupPolicy: "All" },
    }),
  ).toMatch(/Unsupported value: "Sometimes"[\s\S]*Unsupported value: "All"/);
  expect(
    await refused({
      apiVersion: "v1",
      kind: "ReplicationController",
      metadata: { name: "r", namespace: "default" },
      spec: { selector: { app: "b" }, template: { metadata: { labels: { app: "a" } }, spec: { containers: [] } } },
    }),
  ).toMatch(/`selector` does not match template `labels`[\s\S]*spec.template.spec.containers: Required value/);
});
