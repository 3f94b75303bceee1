// The Helm chart and the kustomize base, with the real helm and kubectl; and a server with the configuration that the chart writes.

import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as models from "@kubernetes/client-node";
import { beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import { kustomizeBase } from "../../tools/release/kustomize-base.ts";
import { byNight } from "../../tools/test-cost/by-night.ts";
import { makeCompanyPki } from "../e2e/testing/company-pki.ts";
import { type KubernetesTools, kubernetesTools } from "../e2e/testing/kubernetes-tools.ts";
import { REPOSITORY, startPostern, succeed, temporaryDirectory, tool } from "../e2e/testing/postern-process.ts";

const CHART = join(REPOSITORY, "deploy/charts/postern");
const BASE = join(REPOSITORY, "deploy/kustomize/base");

const ON_ETCD = [
  "store.type=etcd",
  "store.etcd.endpoints={etcd-0.etcd:2379,etcd-1.etcd:2379}",
  "store.etcd.identitySecret=postern-identity",
  "store.etcd.tlsSecret=postern-etcd",
  "externalHostname=postern.example.com",
];

/** Values, and the kinds that they add to or take from those of the defaults. */
const INSTALLATIONS: readonly (readonly [name: string, values: readonly string[], kinds: readonly string[]])[] = [
  ["the defaults", [], ["StatefulSet"]],
  ["etcd", ON_ETCD, ["Deployment", "PodDisruptionBudget"]],
  ["one server on etcd", [...ON_ETCD, "replicas=1"], ["Deployment"]],
  [
    "an ingress and cert-manager",
    [
      "externalHostname=postern.example.com:8443",
      "ingress.enabled=true",
      "tls.certManager.enabled=true",
      "tls.certManager.issuerRef.name=ca",
    ],
    ["Certificate", "Ingress", "StatefulSet"],
  ],
  [
    "a load balancer and own certificates",
    [
      "service.type=LoadBalancer",
      "service.loadBalancerClass=x",
      "tls.secret=postern-tls",
      "externalHostname=p.example.com",
    ],
    ["StatefulSet"],
  ],
  [
    "metrics for the Prometheus operator",
    [
      "serviceMonitor.enabled=true",
      "serviceMonitor.tokenSecret.name=metrics",
      "serviceMonitor.labels.release=prometheus",
      "serviceMonitor.ca.configMap.name=postern-ca,serviceMonitor.ca.configMap.key=ca.crt",
      "prometheusRule.enabled=true",
    ],
    ["PrometheusRule", "ServiceMonitor", "StatefulSet"],
  ],
  [
    "bootstrap manifests",
    ["bootstrap.manifests.users\\.yaml=kind: User", "bootstrap.drift=overwrite"],
    ["ConfigMap", "StatefulSet"],
  ],
  ["bootstrap manifests of one's own", ["bootstrap.configMap=mine"], ["StatefulSet"]],
  [
    "everything that can be added",
    [
      "extraEnv[0].name=A,extraEnv[0].value=b",
      "extraVolumes[0].name=v,extraVolumes[0].emptyDir.medium=Memory",
      "extraVolumeMounts[0].name=v,extraVolumeMounts[0].mountPath=/v",
      "nodeSelector.a=b",
      "tolerations[0].operator=Exists",
      "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key=a,affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator=Exists",
      "priorityClassName=high",
      "podLabels.a=b",
      "podAnnotations.a=b",
      "imagePullSecrets[0].name=s",
      "networkPolicy.from[0].namespaceSelector.matchLabels.a=b",
      `image.digest=sha256:${"0".repeat(64)}`,
      "config.log.level=info",
    ],
    ["StatefulSet"],
  ],
];
const ALWAYS = ["ConfigMap", "NetworkPolicy", "Pod", "Service", "ServiceAccount"];

let newest: KubernetesTools;
let oldest: KubernetesTools;
beforeAll(async () => {
  [oldest, newest] = await Promise.all([kubernetesTools("1.32"), kubernetesTools("1.35")]);
});

const setting = (values: readonly string[]): readonly string[] => values.flatMap((value) => ["--set", value]);
const rendered = new Map<string, Promise<string>>();
/** Several tests look at the same manifests. */
const render = async (values: readonly string[], { helm } = newest): Promise<readonly any[]> => {
  const args = ["template", "postern", CHART, "--namespace", "keys", ...setting(values)];
  const id = [helm, ...args].join(" ");
  const text = rendered.get(id) ?? succeed(tool(helm, args));
  rendered.set(id, text);
  return parseAllDocuments(await text).flatMap((document) => document.toJS() ?? []);
};
const configOf = (manifests: readonly any[]): string =>
  manifests.find(({ kind }) => kind === "ConfigMap").data["postern.yaml"];
const podOf = (manifests: readonly any[]): any =>
  manifests.find(({ kind }) => kind === "StatefulSet" || kind === "Deployment").spec.template.spec;

describe.each(INSTALLATIONS)("the chart with %s", (_, values, kinds) => {
  it("passes helm lint --strict, with helm 3 and helm 4", async () => {
    for (const { helm } of [oldest, newest]) await succeed(tool(helm, ["lint", "--strict", CHART, ...setting(values)]));
  });

  it("renders the objects that it should, the same with helm 3 and helm 4", async () => {
    const manifests = await render(values);
    expect(manifests.map(({ kind }) => kind).sort()).toEqual([...ALWAYS, ...kinds].sort());
    expect(await render(values, oldest)).toEqual(manifests);
  });

  it("renders what the types of the Kubernetes API allow", async () => {
    const faults = (await render(values)).flatMap((manifest) => faultsOf(manifest));
    expect(faults).toEqual([]);
  });

  it("meets the restricted pod security standard, with a root file system that cannot be written", async () => {
    const manifests = await render(values);
    for (const pod of [podOf(manifests), manifests.find(({ kind }) => kind === "Pod").spec]) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
      });
      for (const container of [...(pod.initContainers ?? []), ...pod.containers])
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      expect(pod.hostNetwork ?? pod.hostPID ?? pod.hostIPC).toBeUndefined();
    }
  });
});

it.each([
  ["an unknown value", ["imagee=x"], /imagee/],
  ["etcd without endpoints", ["store.type=etcd", "store.etcd.identitySecret=x"], /endpoints/],
  ["etcd without the identity that servers share", ["store.type=etcd", "store.etcd.endpoints={a:1}"], /identitySecret/],
  [
    "a certificate without a host",
    ["tls.certManager.enabled=true", "tls.certManager.issuerRef.name=a"],
    /externalHostname/,
  ],
  ["an ingress without a host", ["ingress.enabled=true"], /externalHostname/],
  ["a bootstrap file that no server reads", ["bootstrap.manifests.users=kind: User"], /invalid propertyName .users./],
  ["a digest that is none", ["image.digest=latest"], /digest/],
  [
    "metrics of a server that nothing verifies",
    ["serviceMonitor.enabled=true", "serviceMonitor.tokenSecret.name=metrics"],
    /serviceMonitor.ca is needed/,
  ],
])("refuses %s", async (_, values, fault) => {
  const { code, stderr } = await tool(newest.helm, ["template", "postern", CHART, ...setting(values)]);
  expect(code).not.toBe(0);
  expect(stderr).toMatch(fault);
});

const ETCD = ["store.type=etcd", "store.etcd.endpoints={etcd:2379}", "store.etcd.identitySecret=identity"];

it.each<[string, readonly string[], object]>([
  ["etcd", ETCD, { serverName: "localhost", ca: { secret: { name: "identity", key: "ca.crt" } } }],
  [
    "cert-manager",
    ["tls.certManager.enabled=true", "tls.certManager.issuerRef.name=a", "externalHostname=p.example.com:8443"],
    { serverName: "p.example.com", ca: { secret: { name: "postern-tls", key: "ca.crt" } } },
  ],
  [
    "a certificate of a public CA",
    ["tls.secret=own", "externalHostname=p.example.com"],
    { serverName: "p.example.com" },
  ],
  [
    "a CA that is named",
    ["serviceMonitor.ca.secret.name=a,serviceMonitor.ca.secret.key=b"],
    { serverName: "localhost", ca: { secret: { name: "a", key: "b" } } },
  ],
])("verifies the server before Prometheus sends its access key, with %s", async (_, values, tlsConfig) => {
  const manifests = await render(["serviceMonitor.enabled=true", "serviceMonitor.tokenSecret.name=m", ...values]);
  const [endpoint] = manifests.find(({ kind }) => kind === "ServiceMonitor").spec.endpoints;
  expect(endpoint.tlsConfig).toEqual(tlsConfig);
});

it("copies the server key to memory only", async () => {
  const { volumes } = podOf(await render(ETCD));
  expect(volumes.find(({ name }: any) => name === "data")).toEqual({
    name: "data",
    emptyDir: { medium: "Memory", sizeLimit: "64Mi" },
  });
});

it("finds fields and types that the Kubernetes API does not have", () => {
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { nam: "x" },
    spec: { containers: [{ image: 1, ports: {} }] },
  };
  expect(faultsOf(pod)).toEqual([
    "Pod.metadata.nam: unknown",
    "Pod.spec.containers[0].image: number is no string",
    "Pod.spec.containers[0].ports: no list",
  ]);
});

byNight("starts a server with the configuration of the chart", async () => {
  await using directory = await temporaryDirectory();
  const data = join(directory.path, "data");
  const file = join(directory.path, "postern.yaml");
  const config = configOf(await render(["externalHostname=postern.example.com", "config.log.level=info"]));
  expect(parse(config)).toMatchObject({
    bindAddress: "0.0.0.0",
    dataDir: "/data",
    externalHostname: "postern.example.com",
  });
  await writeFile(file, config.replace("0.0.0.0", "127.0.0.1"));
  await using server = await startPostern(data, ["--config", file]);
  expect(readFileSync(server.adminKubeconfig, "utf8")).toContain("https://postern.example.com");
});

it("gives kubeconfigs the CA that cert-manager writes into the Secret, and none where it writes none", async () => {
  await using directory = await temporaryDirectory();
  const issuer = ["tls.certManager.enabled=true", "tls.certManager.issuerRef.name=ca"];
  const config = parse(configOf(await render([...issuer, "externalHostname=p.example.com"])));
  expect(config).toMatchObject({
    tlsCertFile: "/tls/tls.crt",
    tlsPrivateKeyFile: "/tls/tls.key",
    tlsCaFile: "/tls/ca.crt",
  });
  const pki = await makeCompanyPki(directory.path, "acme");
  const flags = ["--tls-cert-file", pki.chain, "--tls-private-key-file", pki.key, "--tls-ca-file"];
  for (const [name, ca, shown] of [
    ["private", pki.root, true],
    ["public", join(directory.path, "ca.crt"), false],
  ] as const) {
    await using server = await startPostern(join(directory.path, name), [...flags, ca]);
    expect(readFileSync(server.adminKubeconfig, "utf8").includes("certificate-authority-data")).toBe(shown);
  }
});

it("starts a server on the bootstrap manifests of the chart, whether text, an object or a list", async () => {
  await using directory = await temporaryDirectory();
  const file = (name: string): string => join(directory.path, name);
  const user = (name: string) => ({ apiVersion: "management.postern/v1", kind: "User", metadata: { name }, spec: {} });
  const values = {
    bootstrap: { manifests: { "a.yaml": stringify(user("a")), "b.json": user("b"), "c.yml": [user("c"), user("d")] } },
  };
  await writeFile(file("values.json"), JSON.stringify(values));
  const text = await succeed(tool(newest.helm, ["template", "postern", CHART, "--values", file("values.json")]));
  const manifests: readonly any[] = parseAllDocuments(text).map((document) => document.toJS());
  const pod = podOf(manifests);
  const { dir } = parse(configOf(manifests)).bootstrap;
  const mount = pod.containers[0].volumeMounts.find(({ mountPath }: any) => mountPath === dir);
  const { configMap } = pod.volumes.find(({ name }: any) => name === mount.name);
  const { data } = manifests.find(({ kind, metadata }) => kind === "ConfigMap" && metadata.name === configMap.name);
  await mkdir(file("bootstrap"));
  for (const [name, content] of Object.entries(data)) await writeFile(file(`bootstrap/${name}`), String(content));
  await using server = await startPostern(file("data"), ["--bootstrap-dir", file("bootstrap")]);
  await expect.poll(() => server.output().match(/document \d \(line \d+\): created/g)).toHaveLength(4);
});

it("links alerts to the page that the values name", async () => {
  const of = async (values: readonly string[]) => {
    const manifests = await render(["prometheusRule.enabled=true", ...values]);
    const { groups } = manifests.find(({ kind }) => kind === "PrometheusRule").spec;
    return groups[0].rules[0].annotations.runbook_url;
  };
  expect(await of([])).toBe("docs/operations/alerts.md#posterndown");
  expect(await of(["prometheusRule.runbookUrl=https://wiki.example.com/postern"])).toBe(
    "https://wiki.example.com/postern#posterndown",
  );
});

byNight("starts a server with the identity that the guide has the operator make", async () => {
  await using directory = await temporaryDirectory();
  const guide = readFileSync(join(REPOSITORY, "docs/operations/installing.md"), "utf8");
  const commands = /```sh\n(umask 077\nopenssl rand[\s\S]*?)kubectl/.exec(guide)?.[1] ?? "";
  const data = join(directory.path, "data");
  await mkdir(data);
  await succeed(tool("sh", ["-euc", `cd ${data}\n${commands}`]));
  await using server = await startPostern(data);
  const { code } = await tool("curl", ["--silent", "--fail", "--cacert", join(data, "ca.crt"), `${server.url}/readyz`]);
  expect(code).toBe(0);
});

it("knows every option that the chart writes", async () => {
  const reference = readFileSync(join(REPOSITORY, "docs/reference/configuration.md"), "utf8");
  const config = parse(configOf(await render(ON_ETCD)));
  const keys = Object.entries(config).flatMap(([name, value]) =>
    typeof value === "object" && !Array.isArray(value) && value !== null
      ? Object.keys(value).map((inner) => `${name}.${inner}`)
      : [name],
  );
  for (const key of keys) expect(reference).toContain(`| \`${key}\` |`);
});

describe("the kustomize base", () => {
  it("is what the chart renders", async () => {
    const args = ["template", "postern", CHART, "--skip-tests"];
    const rendered = kustomizeBase(await succeed(tool(newest.helm, args)));
    expect(readFileSync(join(BASE, "postern.yaml"), "utf8")).toBe(rendered);
  });

  it("builds with kubectl kustomize", async () => {
    const text = await succeed(tool(newest.kubectl, ["kustomize", BASE]));
    const manifests = parseAllDocuments(text).map((document) => document.toJS());
    expect(manifests.map(({ kind }) => kind).sort()).toEqual(
      [...ALWAYS.filter((kind) => kind !== "Pod"), "StatefulSet"].sort(),
    );
    expect(manifests.flatMap((manifest) => faultsOf(manifest))).toEqual([]);
  });
});

type TypeMap = readonly { readonly baseName: string; readonly type: string }[];
const mapOf = (type: string): TypeMap | undefined =>
  (models as unknown as Record<string, { getAttributeTypeMap?: () => TypeMap } | undefined>)[
    type
  ]?.getAttributeTypeMap?.();

/** Fields of an object of a built-in kind that are not in its OpenAPI model, as the JavaScript client has it. Other kinds pass. */
function faultsOf(manifest: any): readonly string[] {
  const [, version = ""] = /(?:^|\/)(v[^/]+)$/.exec(manifest.apiVersion) ?? [];
  const type = `${version[0]?.toUpperCase()}${version.slice(1)}${manifest.kind}`;
  return mapOf(type) === undefined || manifest.apiVersion.includes(".coreos.")
    ? []
    : faultsIn(manifest, type, manifest.kind);
}

function faultsIn(value: any, type: string, path: string): readonly string[] {
  if (type === "any" || type === "object") return [];
  if (type === "IntOrString") return ["number", "string"].includes(typeof value) ? [] : [`${path}: no number or text`];
  const [, item] = /^Array<(.*)>$/.exec(type) ?? [];
  if (item !== undefined) {
    if (!Array.isArray(value)) return [`${path}: no list`];
    return value.flatMap((each, index) => faultsIn(each, item, `${path}[${index}]`));
  }
  const [, member] = /^\{ \[key: string\]: (.*); \}$/.exec(type) ?? [];
  if (member !== undefined)
    return Object.entries(value).flatMap(([name, each]) => faultsIn(each, member, `${path}.${name}`));
  const map = mapOf(type);
  if (map === undefined) return typeof value === type ? [] : [`${path}: ${typeof value} is no ${type}`];
  return Object.entries(value).flatMap(([name, each]) => {
    const field = map.find(({ baseName }) => baseName === name);
    return field === undefined ? [`${path}.${name}: unknown`] : faultsIn(each, field.type, `${path}.${name}`);
  });
}
