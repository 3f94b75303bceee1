// The requests of Terraform's ephemeral resources and write-only attributes, as the source of the provider sends them. What goes into the state are answers to
// kubernetes_manifest, and metadata: no credential is in any of them.
// Source: terraform-provider-kubernetes/kubernetes/resource_kubernetes_secret_v1.go,
// internal/framework/provider/{authenticationv1/ephemeral_token_request_v1,certificatesv1/ephemeral_certificate_signing_request_v1}.go

import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createAccessKeyFormat } from "@postern/platform/features/access-keys/secrets/access-key-format";
import { describe, expect, it } from "vitest";
import { REPOSITORY, tool } from "./testing/postern-process.ts";
import { APPLY, expectStatus, useReplayServer } from "./testing/replayed-client.ts";

const { sendTo } = useReplayServer();
const AGENT = "HashiCorp/1.0 Terraform/1.11.4";
const management = sendTo("/kubernetes/management", AGENT);
const demo = sendTo("/kubernetes/project/default/virtualcluster/demo", AGENT);
const GROUP = "/apis/management.postern/v1";
const format = createAccessKeyFormat("postern");
const page = readFileSync(join(REPOSITORY, "docs/guides/terraform.md"), "utf8");
const blocks = [...page.matchAll(/```hcl\n(.*?)```/gs)].map(([, text = ""]) => text);

/** Resources of the page whose requests are here. */
const REPLAYED = [
  "kubernetes_manifest",
  "kubernetes_token_request_v1",
  "kubernetes_secret_v1",
  "kubernetes_certificate_signing_request_v1",
];

describe("the page", () => {
  it("has no resource whose requests are not replayed here", () => {
    const named = blocks.flatMap((text) =>
      [...text.matchAll(/^(?:resource|ephemeral) "(\w+)"/gm)].map(([, type]) => type),
    );
    expect([...new Set(named)].sort()).toEqual([...REPLAYED].sort());
  });

  it("has blocks that terraform reads, and formats no other way", async (context) => {
    if ((await tool("terraform", ["version"])).code !== 0) return context.skip("terraform is not installed");
    for (const input of blocks) {
      const { status, stdout, stderr } = spawnSync("terraform", ["fmt", "-check", "-diff", "-"], {
        input,
        encoding: "utf8",
      });
      expect({ status, stdout, stderr: stderr.includes("Error") ? stderr : "" }).toEqual({
        status: 0,
        stdout: "",
        stderr: "",
      });
    }
  });
});

describe("kubernetes_manifest", () => {
  const keysThere = async (): Promise<readonly string[]> =>
    (await expectStatus(200, management("GET", `${GROUP}/ownedaccesskeys`))).items.map(
      ({ metadata }: any) => metadata.name,
    );

  it.each([
    [
      "ownedaccesskeys",
      {
        kind: "OwnedAccessKey",
        metadata: { name: "shop-deploy" },
        spec: {
          ttl: 2592000,
          scope: { virtualClusters: [{ project: "default", virtualCluster: "demo" }] },
          secretRef: { namespace: "p-default", name: "shop-deploy-key" },
        },
      },
    ],
    [
      "namespaces/p-default/kubeconfiggenerators",
      {
        kind: "KubeconfigGenerator",
        metadata: { name: "fleet", namespace: "p-default" },
        spec: { selector: {}, role: "view", secretRef: { name: "fleet" } },
      },
    ],
  ])("of %s: no answer has a value, and a plan makes no key", async (collection, manifest) => {
    const object = { apiVersion: "management.postern/v1", ...manifest };
    const path = `${GROUP}/${collection}/${manifest.metadata.name}`;
    const apply = (query = "") =>
      management("PATCH", `${path}?fieldManager=Terraform&force=false${query}`, { type: APPLY, body: object });
    const before = await keysThere();
    const planned = await apply("&dryRun=All");
    expect(planned.status, planned.text).toBe(201);
    expect(await keysThere()).toEqual(before);
    const applied = await apply();
    expect(applied.status, applied.text).toBe(201);
    await expect
      .poll(async () => {
        const { status } = await expectStatus(200, management("GET", path));
        return status?.conditions?.find(({ type }: any) => type === "Ready")?.status;
      })
      .toBe("True");
    const again = await apply("&dryRun=All");
    const read = await management("GET", path);
    expect(again.body.spec).toEqual(read.body.spec);
    for (const { text } of [planned, applied, again, read]) expect(format.find(text)).toBe(false);
    // The Secret is the one place that has it.
    const secret = await expectStatus(
      200,
      management("GET", `/api/v1/namespaces/p-default/secrets/${manifest.spec.secretRef.name}`),
    );
    const [value = ""] = Object.values<string>(secret.data);
    expect(format.find(Buffer.from(value, "base64").toString())).toBe(true);
  });
});

describe("in a virtual cluster", () => {
  const ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts";
  const SECRETS = "/api/v1/namespaces/default/secrets";
  const CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const metadata = (name: string, namespace?: string) => ({
    name,
    ...(namespace === undefined ? {} : { namespace }),
    creationTimestamp: null,
  });

  it("kubernetes_token_request_v1 gets a token of ten minutes", async () => {
    await expectStatus(201, demo("POST", ACCOUNTS, { body: { metadata: metadata("deployer", "default") } }));
    const { status } = await expectStatus(
      201,
      demo("POST", `${ACCOUNTS}/deployer/token`, {
        body: {
          kind: "TokenRequest",
          apiVersion: "authentication.k8s.io/v1",
          metadata: metadata("deployer", "default"),
          spec: { audiences: [], expirationSeconds: 600, boundObjectRef: null },
          status: { token: "", expirationTimestamp: null },
        },
      }),
    );
    const left = (Date.parse(status.expirationTimestamp) - Date.now()) / 1000;
    expect(left).toBeGreaterThan(500);
    expect(left).toBeLessThanOrEqual(600);
    const [, claims = ""] = status.token.split(".");
    expect(JSON.parse(Buffer.from(claims, "base64url").toString()).sub).toBe("system:serviceaccount:default:deployer");
  });

  it("kubernetes_secret_v1 writes its write-only data with the revision, and replaces all of it with the next", async () => {
    const path = `${SECRETS}/registry`;
    const created = {
      kind: "Secret",
      apiVersion: "v1",
      metadata: metadata("registry", "default"),
      stringData: { password: "first" },
      type: "Opaque",
    };
    await expectStatus(201, demo("POST", SECRETS, { body: created }));
    const next = [{ path: "/data", value: { token: Buffer.from("second").toString("base64") }, op: "add" }];
    await expectStatus(200, demo("PATCH", path, { type: "application/json-patch+json", body: next }));
    const { data, type } = await expectStatus(200, demo("GET", path));
    expect({ data, type }).toEqual({ data: { token: "c2Vjb25k" }, type: "Opaque" });
    await expectStatus(200, demo("DELETE", path, { body: { kind: "DeleteOptions", apiVersion: "v1" } }));
  });

  it("kubernetes_certificate_signing_request_v1 approves its own request, reads the certificate and deletes the request", async () => {
    const flags = ["req", "-new", "-newkey", "ed25519", "-nodes", "-keyout", "/dev/null", "-subj", "/CN=ci"];
    const request = execFileSync("openssl", flags, { stdio: ["ignore", "pipe", "ignore"] });
    const csr = {
      kind: "CertificateSigningRequest",
      apiVersion: "certificates.k8s.io/v1",
      metadata: metadata("ci"),
      spec: {
        request: request.toString("base64"),
        signerName: "kubernetes.io/kube-apiserver-client",
        usages: ["client auth"],
      },
      status: {},
    };
    await expectStatus(201, demo("POST", CSRS, { body: csr }));
    const pending = await expectStatus(200, demo("GET", `${CSRS}/ci`));
    const approval = {
      type: "Approved",
      status: "True",
      reason: "TerraformAutoApprove",
      message: "This CertificateSigningRequest was auto-approved by Terraform",
      lastUpdateTime: null,
      lastTransitionTime: null,
    };
    await expectStatus(
      200,
      demo("PUT", `${CSRS}/ci/approval`, { body: { ...pending, status: { conditions: [approval] } } }),
    );
    const certificateOf = async (): Promise<string> =>
      (await expectStatus(200, demo("GET", `${CSRS}/ci`))).status.certificate ?? "";
    await expect.poll(certificateOf).not.toBe("");
    const certificate = Buffer.from(await certificateOf(), "base64");
    const subject = execFileSync("openssl", ["x509", "-noout", "-subject"], { input: certificate, encoding: "utf8" });
    expect(subject).toMatch(/CN ?= ?ci/);
    await expectStatus(200, demo("DELETE", `${CSRS}/ci`));
    await expectStatus(404, demo("GET", `${CSRS}/ci`));
  });
});
