import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import { expect, it } from "vitest";
import { EMPTY_GENERATOR, generatorDraftOf, generatorSpecOf, selectorText } from "./generator-draft.ts";

const generator = (spec: KubeconfigGenerator["spec"]): KubeconfigGenerator => ({
  apiVersion: "management.postern/v1",
  kind: "KubeconfigGenerator",
  metadata: { name: "fleet", namespace: "p-shop" },
  spec,
});

it("selects all virtual clusters without a label, and names the Secret as the generator", () => {
  expect(generatorSpecOf({ ...EMPTY_GENERATOR, name: "fleet", labels: [{ key: " ", value: "x" }] })).toEqual({
    selector: {},
    secretRef: { name: "fleet" },
  });
});

it.each([
  { selector: {}, secretRef: { name: "fleet" } },
  {
    displayName: "Fleet",
    selector: { matchLabels: { env: "dev" } },
    role: "view",
    ttlSeconds: 3_600,
    format: "Flux",
    secretRef: { name: "keys" },
    secretTemplate: {
      labels: { team: "shop", tier: "" },
      annotations: { "a.test/b": "" },
      copyLabels: ["env", "region"],
    },
  },
  {
    selector: {},
    format: "ArgoCD",
    secretRef: { name: "argo" },
    argoCD: { project: "shop", namespaces: ["web", "api"], clusterResources: true, shard: 0 },
    secretTemplate: { annotations: { note: "x" } },
  },
] as const)("keeps a spec through the form: %j", (spec) => {
  expect(generatorSpecOf(generatorDraftOf(generator(spec)))).toEqual(spec);
});

it("leaves out what the chosen format has no use for", () => {
  const draft = { ...EMPTY_GENERATOR, name: "fleet", copyLabels: "env", argoProject: "shop" };
  expect(generatorSpecOf(draft)).toEqual({ selector: {}, secretRef: { name: "fleet" } });
  expect(generatorSpecOf({ ...draft, format: "Flux" })).toMatchObject({ secretTemplate: { copyLabels: ["env"] } });
  expect(generatorSpecOf({ ...draft, format: "Flux" })).not.toHaveProperty("argoCD");
});

it("writes selectors as kubectl does", () => {
  const matchExpressions = [
    { key: "tier", operator: "In", values: ["a", "b"] },
    { key: "old", operator: "DoesNotExist" },
    { key: "env", operator: "Exists" },
    { key: "zone", operator: "NotIn", values: ["c"] },
  ] as const;
  expect(selectorText({ matchLabels: { app: "x" }, matchExpressions })).toBe(
    "app=x,tier in (a,b),!old,env,zone notin (c)",
  );
  expect(selectorText({})).toBe("");
});
