// Admission webhooks of an embedded virtual cluster: servers on real TLS, asked because of what a real kubectl does. Texts are those of kube-apiserver.

import {
  patching,
  startWebhookServer,
  type WebhookServer,
} from "@postern/platform/features/virtual-clusters/embedded/testing/webhook-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { KubectlSession } from "./testing/kubectl-clients.ts";
import { startTenantClusters, type TenantClusters } from "./testing/tenant-clusters.ts";

let clusters: TenantClusters;
let webhook: WebhookServer;
let kubectl: KubectlSession;
beforeAll(async () => {
  clusters = await startTenantClusters(["--proxy-allowed-addresses", "127.0.0.1"]);
  webhook = await startWebhookServer();
  ({ kubectl } = await clusters.open("demo"));
});
afterAll(async () => {
  await clusters?.[Symbol.asyncDispose]();
  await webhook?.[Symbol.asyncDispose]();
});

const configuration = (kind: string, path: string, more = "") => `
apiVersion: admissionregistration.k8s.io/v1
kind: ${kind}
metadata: {name: ${path}}
webhooks:
  - name: ${path}.example.com
    clientConfig: {url: "${webhook.url}/${path}", caBundle: ${webhook.caBundle}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [configmaps], scope: "*"}]
    sideEffects: None
    admissionReviewVersions: [v1]
${more}`;

test("a webhook changes what kubectl creates, applies, patches and replaces, and warns", async () => {
  webhook.answers.set("/label", ({ operation, object }) =>
    operation === "DELETE"
      ? { allowed: true }
      : {
          ...patching({
            op: "add",
            path: "/metadata/labels",
            value: { ...object.metadata.labels, seen: operation.toLowerCase() },
          }),
          warnings: ["it was labelled"],
        },
  );
  const text = configuration("MutatingWebhookConfiguration", "label");
  expect(await kubectl.run("apply -f -", text)).toContain("created");
  expect(await kubectl.run("apply -f -", text)).toContain("unchanged");
  expect(await kubectl.run("get mutatingwebhookconfigurations")).toMatch(/NAME +WEBHOOKS +AGE\nlabel +1 +\S+\n/);
  const created = await kubectl(["create", "configmap", "a", "--from-literal=x=1"]);
  expect([created.stdout, created.stderr]).toEqual([
    "configmap/a created\n",
    expect.stringContaining("Warning: it was labelled"),
  ]);
  const seen = async () => (await kubectl.json("get configmap a")).metadata.labels.seen;
  expect(await seen()).toBe("create");
  await kubectl.run('patch configmap a --type=merge -p {"data":{"x":"2"}}');
  expect(await seen()).toBe("update");
  const applied = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, labels: {mine: 'yes'}}\n";
  await kubectl.run("apply --server-side -f -", applied);
  await kubectl.run("apply --server-side -f -", applied);
  // Clients cannot see the owner of a label that no client wrote: it stays when the applier leaves it out.
  expect((await kubectl.json("get configmap b")).metadata.labels).toEqual({ mine: "yes", seen: "update" });
  const dryRun = await kubectl.run("apply --dry-run=server -o json -f -", applied.replace("name: b", "name: c"));
  expect(JSON.parse(dryRun).metadata.labels).toEqual({ mine: "yes", seen: "create" });
  expect(webhook.asked.at(-1)?.review.request.dryRun).toBe(true);
  await kubectl.run("delete mutatingwebhookconfiguration label");
  expect(await kubectl.run("explain mutatingwebhookconfigurations.webhooks.reinvocationPolicy")).toContain(
    '"IfNeeded"',
  );
});

test("a webhook refuses, also deletions, in the words that kubectl shows", async () => {
  webhook.answers.set("/keep", ({ operation, oldObject }) =>
    operation === "DELETE" && oldObject.metadata.labels?.keep === "yes"
      ? { allowed: false, status: { code: 403, reason: "Forbidden", message: `${oldObject.metadata.name} is kept` } }
      : { allowed: true },
  );
  await kubectl.run("apply -f -", configuration("ValidatingWebhookConfiguration", "keep"));
  await kubectl.run("create configmap kept");
  await kubectl.run("label configmap kept keep=yes");
  expect(await kubectl.fails("delete configmap kept")).toBe(
    'Error from server (Forbidden): admission webhook "keep.example.com" denied the request: kept is kept\n',
  );
  expect(await kubectl.fails("delete configmap --all")).toContain("kept is kept");
  await kubectl.run("label configmap kept keep-");
  await kubectl.run("delete configmap kept");
  await kubectl.run("delete validatingwebhookconfiguration keep");
});

test("a webhook without a response fails the request, or is ignored with a warning", async () => {
  webhook.raw.set("/silent", () => undefined);
  const silent = (more: string) =>
    configuration("ValidatingWebhookConfiguration", "silent", `    timeoutSeconds: 1\n${more}`);
  await kubectl.run("apply -f -", silent(""));
  expect(await kubectl.fails("create configmap late")).toContain(
    `Internal error occurred: failed calling webhook "silent.example.com": failed to call webhook: Post "${webhook.url}/silent?timeout=1s": context deadline exceeded\n`,
  );
  await kubectl.run("apply -f -", silent("    failurePolicy: Ignore\n"));
  await kubectl.run("create configmap late");
  await kubectl.run("delete validatingwebhookconfiguration silent");
});

test("errors of a configuration are reported", async () => {
  const text = configuration("ValidatingWebhookConfiguration", "bad").replace("sideEffects: None", "sideEffects: Some");
  expect(await kubectl.fails("apply -f -", text)).toContain(
    'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
  );
});
