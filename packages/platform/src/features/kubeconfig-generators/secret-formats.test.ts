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
