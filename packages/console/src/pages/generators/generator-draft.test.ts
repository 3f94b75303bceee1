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
  },
] as const)("keeps a spec through the form: %j", (spec) => {
  expect(generatorSpecOf(generatorDraftOf(generator(spec)))).toEqual(spec);
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
