// The console finds the keys of a trust rule by what the server writes into them, of which it can import only types.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { TrustRule } from "@postern/api/trust-rule";
import { issueByRule } from "@postern/platform/features/trust/routes/issue-by-rule";
import { readTrustRule } from "@postern/platform/features/trust/trust-rule-state";
import { expect, it } from "vitest";
import { issuedByRule } from "../packages/console/src/pages/trust/issued-by-rule.ts";

const rule = (metadata: TrustRule["metadata"]): TrustRule => ({
  apiVersion: "management.postern/v1",
  kind: metadata.namespace === undefined ? "ClusterTrustRule" : "TrustRule",
  metadata,
  spec: { user: "bot", audiences: ["postern"], issuer: { url: "https://issuer.example" } },
});
const RULES = [rule({ name: "deploy" }), rule({ name: "deploy", namespace: "p-team" }), rule({ name: "test" })];

/** The key that the server issues by the rule. */
async function issuedKey(object: TrustRule): Promise<OwnedAccessKey> {
  const project = object.metadata.namespace?.replace("p-", "");
  const stored = { decode: () => object, decodeSealed: () => undefined };
  const state = readTrustRule(stored as any, project, { roleAliases: [], cliFlag: "" });
  const keys: OwnedAccessKey[] = [];
  const mint = {
    mintGranted: async ({ spec }: any, { issuedBy }: any) => {
      keys.push({
        apiVersion: "management.postern/v1",
        kind: "OwnedAccessKey",
        metadata: {},
        spec,
        status: { issuedBy },
      });
      return { key: "a", expiresAt: undefined };
    },
  };
  const base = { runtime: { clock: { now: () => 0 } }, signal: new AbortController().signal };
  const issue = issueByRule(base as any, mint as any);
  await issue(state, { claims: { sub: "a" }, issuer: "https://issuer.example" } as any, "");
  return keys[0] as OwnedAccessKey;
}

it("finds the keys that the server issued by a rule, and no others", async () => {
  const keys = await Promise.all(RULES.map(issuedKey));
  expect(RULES.map((each) => issuedByRule(keys, each))).toEqual(keys.map((key) => [key]));
});
