import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import { expect, it } from "vitest";
import { secretsOf } from "./secret-formats.ts";

it("copies labels that the virtual cluster has, also where every object has a member of that name", () => {
  const copyLabels = ["env", "constructor", "toString"];
  const generator = {
    metadata: { name: "all" },
    spec: { format: "Flux", secretRef: { name: "all" }, secretTemplate: { labels: { env: "x" }, copyLabels } },
  } as unknown as KubeconfigGenerator;
  const entry = { server: "https://postern.example", certificateAuthorityPem: undefined, token: "t" };
  const secrets = secretsOf(generator, "shop", [
    { ...entry, cluster: "dev", labels: { env: "dev", region: "eu" } },
    { ...entry, cluster: "test", labels: { constructor: "acme" } as { [key: string]: string } },
  ]);
  expect(secrets.get("all-dev")?.template.labels).toEqual({ env: "dev" });
  expect(secrets.get("all-test")?.template.labels).toEqual({ env: "x", constructor: "acme" });
});

it.each<[object | undefined, object]>([
  [undefined, {}],
  [{}, {}],
  [{ namespaces: [], clusterResources: false }, {}],
  [{ project: "shop" }, { project: "shop" }],
  [
    { namespaces: ["web", "api"], clusterResources: true },
    { namespaces: "web,api", clusterResources: "true" },
  ],
  // The shard 0 is one that is set.
  [{ shard: 0 }, { shard: "0" }],
])("writes the settings of Argo CD as its clusterToSecret does: %j", (argoCD, expected) => {
  const generator = {
    metadata: { name: "argo" },
    spec: { format: "ArgoCD", secretRef: { name: "argo" }, ...(argoCD === undefined ? {} : { argoCD }) },
  } as unknown as KubeconfigGenerator;
  const entry = { cluster: "dev", server: "https://postern.example", token: "t", labels: {} };
  const secret = secretsOf(generator, "shop", [{ ...entry, certificateAuthorityPem: "pem" }]).get("argo-dev");
  const { name, server, config, ...settings } = secret?.content ?? {};
  expect([name, server, settings]).toEqual(["shop-dev", "https://postern.example", expected]);
  expect(JSON.parse(config ?? "")).toEqual({
    bearerToken: "t",
    tlsClientConfig: { insecure: false, caData: Buffer.from("pem").toString("base64") },
  });
});
