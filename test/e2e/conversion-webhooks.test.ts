// Versions of a CustomResourceDefinition that a webhook converts, inside an embedded virtual cluster: a server on real TLS, asked because of what a real
// kubectl and helm do. Texts are those of kube-apiserver.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  converting,
  startWebhookServer,
  type WebhookServer,
} from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type KubectlSession, kubectlSession } from "./testing/kubectl-clients.ts";
import { kubernetesTools } from "./testing/kubernetes-tools.ts";
import { startTool, succeed, tool } from "./testing/postern-process.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

let clusters: TenantClusters;
let webhook: WebhookServer;
let kubectl: KubectlSession;
let config: string;
let program: string;

beforeAll(async () => {
  clusters = await startTenantClusters(["--proxy-allowed-addresses", "127.0.0.1"]);
  webhook = await startWebhookServer();
  webhook.raw.set("/convert", converting(convert));
  ({ config } = await clusters.open("demo"));
  program = (await kubernetesTools("1.35")).kubectl;
  kubectl = kubectlSession(
    () => config,
    () => join(clusters.directory, "cache-1.35"),
    program,
  );
});
afterAll(async () => {
  await clusters?.[Symbol.asyncDispose]();
  await webhook?.[Symbol.asyncDispose]();
});

/** `address` of v1 is `host` and `port` of v2. */
function convert({ spec = {}, ...object }: any, apiVersion: string): object {
  const { address, host, port, ...rest } = spec;
  if (apiVersion.endsWith("/v1")) return { ...object, apiVersion, spec: { ...rest, address: `${host}:${port}` } };
  const [first, second] = (address ?? ":").split(":");
  return { ...object, apiVersion, spec: { ...rest, host: first, port: second } };
}

type DefinitionOptions = { readonly kind?: string; readonly path?: string; readonly storage?: string };

const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`;

/** Two versions of one kind; `path` is that of the webhook. */
const definition = ({ kind = "Host", path = "/convert", storage = "v1" }: DefinitionOptions = {}): string => `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${pluralOf(kind)}.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: ${pluralOf(kind)}, kind: ${kind}}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: "${webhook.url}${path}", caBundle: ${webhook.caBundle}}
  versions:
    - name: v1
      served: true
      storage: ${storage === "v1"}
      additionalPrinterColumns: [{name: Address, type: string, jsonPath: .spec.address}]
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                address: {type: string, description: Host and port in one.}
                note: {type: string}
    - name: v2
      served: true
      storage: ${storage === "v2"}
      subresources: {status: {}}
      additionalPrinterColumns:
        - {name: Host, type: string, jsonPath: .spec.host}
        - {name: Port, type: string, jsonPath: .spec.port}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                host: {type: string, description: The host alone.}
                port: {type: string, pattern: "^[0-9]*$"}
                note: {type: string}
            status: {type: object, properties: {phase: {type: string}}}
`;
const v1 = (name: string, address: string, kind = "Host"): string =>
  `apiVersion: example.com/v1\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: {address: "${address}"}\n`;
const v2 = (name: string, host: string, port: string, kind = "Host"): string =>
  `apiVersion: example.com/v2\nkind: ${kind}\nmetadata: {name: ${name}}\nspec: {host: "${host}", port: "${port}"}\n`;

async function define(options: DefinitionOptions = {}): Promise<void> {
  await kubectl.run("apply -f -", definition(options));
  const name = `${pluralOf(options.kind ?? "Host")}.example.com`;
  await kubectl.run(`wait --for=condition=Established crd/${name} --timeout=30s`);
}

test("an object is shown in every version: as an object, a table, an explanation, a selection and a watch", async () => {
  await define();
  expect(await kubectl.run("apply -f -", v1("a", "x:80"))).toBe("host.example.com/a created\n");
  expect((await kubectl.json("get hosts.v1.example.com a")).spec).toEqual({ address: "x:80" });
  const read = await kubectl.json("get hosts.v2.example.com a");
  expect([read.apiVersion, read.spec]).toEqual(["example.com/v2", { host: "x", port: "80" }]);
  // The newest version is the preferred one.
  expect(await kubectl.run("get hosts")).toMatch(/^NAME +HOST +PORT\na +x +80\n$/);
  expect(await kubectl.run("get hosts.v1.example.com")).toMatch(/^NAME +ADDRESS\na +x:80\n$/);
  expect(await kubectl.run("explain hosts.spec.host")).toContain("The host alone.");
  expect(await kubectl.run("explain hosts.spec.address --api-version=example.com/v1")).toContain(
    "Host and port in one.",
  );
  expect(await kubectl.fails("explain hosts.spec.address")).toContain('field "address" does not exist');
  expect(await kubectl.run("wait hosts.v2.example.com/a --for=jsonpath={.spec.port}=80 --timeout=30s")).toContain(
    "met",
  );
  using watching = startTool(program, [
    ...["--kubeconfig", config, "--cache-dir", join(clusters.directory, "cache-1.35")],
    ...["get", "hosts.v2.example.com", "--watch", "-o", "jsonpath={.spec.host}{'|'}"],
  ]);
  await expect.poll(() => watching.output()).toBe("x|");
  await kubectl.run('patch hosts.v1.example.com a --type=merge -p {"spec":{"address":"y:81"}}');
  await expect.poll(() => watching.output()).toBe("x|y|");
});

test("an object is written in every version: applied by both sides, patched, replaced, labelled and deleted", async () => {
  expect(await kubectl.run("apply -f -", v2("a", "z", "82"))).toBe("host.example.com/a configured\n");
  expect((await kubectl.json("get hosts.v1.example.com a")).spec).toEqual({ address: "z:82" });
  expect(await kubectl.run("apply -f -", v2("a", "z", "82"))).toBe("host.example.com/a unchanged\n");
  expect(await kubectl.run("diff -f -", v2("a", "z", "82"))).toBe("");
  const differs = await kubectl(["diff", "-f", "-"], v2("a", "z", "83"));
  expect([differs.code, differs.stdout]).toEqual([1, expect.stringMatching(/- {2}port: "82"\n\+ {2}port: "83"/)]);
  const serverSide = "apply --server-side -f -";
  expect(await kubectl.run(serverSide, v2("b", "x", "80"))).toBe("host.example.com/b serverside-applied\n");
  expect(await kubectl.run(serverSide, v2("b", "x", "81"))).toBe("host.example.com/b serverside-applied\n");
  expect((await kubectl.json("get hosts.v1.example.com b")).spec).toEqual({ address: "x:81" });
  await kubectl.run('patch hosts.v2.example.com b --type=json -p [{"op":"replace","path":"/spec/port","value":"82"}]');
  await kubectl.run('patch hosts.v2.example.com b --subresource=status --type=merge -p {"status":{"phase":"Up"}}');
  await kubectl.run("label hosts.v1.example.com b tier=web");
  const replaced = await kubectl.json("get hosts.v1.example.com b");
  await kubectl.run("replace -f -", JSON.stringify({ ...replaced, spec: { address: "w:90" } }));
  expect((await kubectl.json("get hosts.v2.example.com b")).spec).toEqual({ host: "w", port: "90" });
  expect(await kubectl.run("get hosts.v2.example.com -l tier=web -o name")).toBe("host.example.com/b\n");
  // It is validated in the version of the request, and in no other.
  expect(await kubectl.fails('patch hosts.v2.example.com b --type=merge -p {"spec":{"port":"x"}}')).toContain(
    "spec.port in body should match '^[0-9]*$'",
  );
  expect(await kubectl.fails("apply -f -", v2("c", "x", "80, siez: 1"))).toContain("spec.port");
  await kubectl.run("delete hosts.v2.example.com b");
  expect(await kubectl.fails("get hosts.v1.example.com b")).toContain('hosts.example.com "b" not found');
});

test("the stored version moves on as the documentation of Kubernetes has it, and the old version goes", async () => {
  await define({ kind: "Mover" });
  for (const name of ["a", "b", "c"]) await kubectl.run("apply -f -", v1(name, `${name}:80`, "Mover"));
  await kubectl.run("apply -f -", definition({ kind: "Mover", storage: "v2" }));
  const stored = () => kubectl.run("get crd movers.example.com -o jsonpath={.status.storedVersions}");
  await expect.poll(stored).toBe('["v1","v2"]');
  const withoutV1 = [
    { op: "test", path: "/spec/versions/0/name", value: "v1" },
    { op: "remove", path: "/spec/versions/0" },
  ];
  const remove = ["patch", "crd", "movers.example.com", "--type=json", "-p", JSON.stringify(withoutV1)];
  expect((await kubectl(remove)).stderr).toContain('status.storedVersions[0]: Invalid value: "v1"');
  // Each is read in the new version, and written as it is.
  await kubectl.run("replace -f -", await kubectl.run("get movers.v2.example.com -o json"));
  await kubectl.run(
    'patch crd movers.example.com --subresource=status --type=merge -p {"status":{"storedVersions":["v2"]}}',
  );
  await succeed(kubectl(remove));
  // Nothing is left that the webhook has to convert.
  webhook.raw.set("/convert", (_request, response) => void response.writeHead(500).end());
  await expect
    .poll(() => kubectl(["get", "movers", "-o", "jsonpath={.items[*].spec.host}"]))
    .toMatchObject({ code: 0, stdout: "a b c" });
  webhook.raw.set("/convert", converting(convert));
  expect(await kubectl.fails("get movers.v1.example.com")).toMatch(
    /could not find the requested resource|doesn't have a resource type/,
  );
});

test("a webhook's errors are reported in the words of Kubernetes, and the stored version is still served", async () => {
  await define({ kind: "Late", path: "/late" });
  await kubectl.run("apply -f -", v1("a", "x:80", "Late"));
  const failed = async (): Promise<string> => {
    const text = await kubectl.fails("get lates.v2.example.com a");
    const [prefix, of] = [
      "Error from server: conversion webhook for example.com/v1, Kind=Late ",
      `${webhook.url}/late`,
    ];
    expect(text.startsWith(prefix), text).toBe(true);
    return text.slice(prefix.length, -1).replaceAll(of, "<url>");
  };
  const answers: readonly (readonly [answer: Parameters<typeof webhook.raw.set>[1], text: string | RegExp])[] = [
    [
      (_request, response) => void response.writeHead(503).end(),
      "failed: the server is currently unable to handle the request",
    ],
    [
      (_request, response) => void response.writeHead(500).end("secret"),
      'failed: an error on the server ("unknown") has prevented the request from succeeding',
    ],
    [
      (_request, response) => void response.writeHead(404).end(),
      "failed: the server could not find the requested resource",
    ],
    [
      (_request, response, { request: { uid } }) =>
        void response.end(
          JSON.stringify({
            apiVersion: "apiextensions.k8s.io/v1",
            kind: "ConversionReview",
            response: { uid, result: { status: "Failure", message: "the address has no port" } },
          }),
        ),
      "failed: the address has no port",
    ],
    [
      converting((object) => object),
      "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
    ],
    [
      converting((object, to) => convert({ ...object, metadata: { ...object.metadata, name: "b" } }, to)),
      "returned invalid object: must have the same name: a != b",
    ],
    [(request) => void request.socket.destroy(), /^failed: Post "<url>\?timeout=30s": /],
  ];
  for (const [answer, text] of answers) {
    webhook.raw.set("/late", answer);
    expect(await failed()).toEqual(typeof text === "string" ? text : expect.stringMatching(text));
  }
  expect((await kubectl.json("get lates.v1.example.com a")).spec).toEqual({ address: "x:80" });
  expect(await kubectl.fails("apply -f -", v2("b", "x", "80", "Late"))).toContain(
    "conversion webhook for example.com/v2, Kind=Late failed",
  );
  webhook.raw.set("/late", converting(convert));
  expect((await kubectl.json("get lates.v2.example.com a")).spec).toEqual({ host: "x", port: "80" });
  expect(await kubectl.run("apply -f -", v2("b", "x", "80", "Late"))).toBe("late.example.com/b created\n");
});

test("a webhook without an answer has thirty seconds, and a client that goes away earlier leaves nothing behind", async () => {
  await define({ kind: "Silent", path: "/silent" });
  await kubectl.run("apply -f -", v1("a", "x:80", "Silent"));
  webhook.raw.set("/silent", () => undefined);
  const impatient = kubectl.fails("get silents.v2.example.com a --request-timeout=2s");
  const patient = kubectl.fails("get silents.v2.example.com a");
  // The server has the same deadline, and may be first.
  expect(await impatient).toMatch(
    /Client\.Timeout exceeded|context deadline exceeded|did not complete within the allotted timeout/,
  );
  expect(await patient).toBe(
    `Error from server: conversion webhook for example.com/v1, Kind=Silent failed: Post "${webhook.url}/silent?timeout=30s": context deadline exceeded\n`,
  );
  webhook.raw.set("/silent", converting(convert));
  expect((await kubectl.json("get silents.v2.example.com a")).spec).toEqual({ host: "x", port: "80" });
});

test("a policy takes its parameters in the version that it names, and its failure policy decides when they cannot be had", async () => {
  await define({ kind: "Limit", path: "/limit" });
  webhook.raw.set("/limit", converting(convert));
  await kubectl.run("apply -f -", v1("limit", "allowed:80", "Limit"));
  const policy = (failurePolicy: string): string => `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: named}
spec:
  failurePolicy: ${failurePolicy}
  paramKind: {apiVersion: example.com/v2, kind: Limit}
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.name == params.spec.host", messageExpression: "'not ' + params.spec.host"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: named}
spec: {policyName: named, paramRef: {name: limit, namespace: default, parameterNotFoundAction: Deny}, validationActions: [Deny]}
`;
  await kubectl.run("apply -f -", policy("Fail"));
  const refused = () => kubectl.fails("create configmap other --dry-run=server");
  await expect.poll(refused).toContain("denied request: not allowed");
  await kubectl.run("create configmap allowed");
  // A new text is converted anew.
  webhook.raw.set("/limit", (_request, response) => void response.writeHead(503).end());
  await kubectl.run('patch limits.v1.example.com limit --type=merge -p {"spec":{"note":"new"}}');
  expect(await refused()).toContain(
    "denied request: failed to configure binding: conversion webhook for example.com/v1, Kind=Limit failed: the server is currently unable to handle the request",
  );
  await kubectl.run("apply -f -", policy("Ignore"));
  await kubectl.run("create configmap other");
  await kubectl.run("delete validatingadmissionpolicies,validatingadmissionpolicybindings named");
});

test.each([
  ["1.32", "Crate"],
  ["1.35", "Casket"],
] as const)("helm of %s keeps a release while its templates move on to the next version", async (release, kind) => {
  const plural = pluralOf(kind);
  const chart = join(clusters.directory, plural);
  await mkdir(join(chart, "crds"), { recursive: true });
  await mkdir(join(chart, "templates"));
  await writeFile(join(chart, "Chart.yaml"), `apiVersion: v2\nname: ${plural}\nversion: 1.0.0\n`);
  await writeFile(join(chart, "crds", "definition.yaml"), definition({ kind }));
  await writeFile(join(chart, "templates", "object.yaml"), v1("one", "x:80", kind));
  const { helm } = await kubernetesTools(release);
  const homes = ["CACHE", "CONFIG", "DATA"].map(
    (home) => `HELM_${home}_HOME=${join(clusters.directory, `helm-${plural}`, home)}`,
  );
  const run = (...args: string[]) => succeed(tool("env", [...homes, helm, "--kubeconfig", config, ...args]));
  const uid = () => kubectl.run(`get ${plural}.v1.example.com one -o jsonpath={.metadata.uid}`);

  expect(await run("install", plural, chart)).toContain("STATUS: deployed");
  const made = await uid();
  await writeFile(join(chart, "templates", "object.yaml"), v2("one", "y", "{{ .Values.port | default 81 }}", kind));
  await run("upgrade", plural, chart);
  expect((await kubectl.json(`get ${plural}.v1.example.com one`)).spec).toEqual({ address: "y:81" });
  await run("upgrade", plural, chart, "--set", "port=82");
  expect((await kubectl.json(`get ${plural}.v1.example.com one`)).spec).toEqual({ address: "y:82" });
  expect(await uid()).toBe(made);
  await run("rollback", plural, "1");
  expect((await kubectl.json(`get ${plural}.v2.example.com one`)).spec).toEqual({ host: "x", port: "80" });
  expect(await uid()).toBe(made);
  await run("uninstall", plural);
  expect((await kubectl.json(`get ${plural}.v2.example.com`)).items).toEqual([]);
});
