import type { KeyScope } from "@postern/api/access-key-scope";
import { expect, it } from "vitest";
import { nameFrom } from "../../../format/name-from.ts";
import { draftOfScope, scopeOf, selectorFault } from "../scopes/scope-draft.ts";
import { scopeSummary, scopeWords } from "../scopes/scope-words.ts";
import { commandOf, EMPTY_DRAFT, type KeyDraft, manifestOf } from "./key-draft.ts";

const draft: KeyDraft = {
  ...EMPTY_DRAFT,
  name: "ci",
  displayName: "CI of the 'shop'",
  owner: "team/payments",
  projects: ["shop"],
  virtualClusters: ["shop/dev", "web/dev"],
  roles: ["platform-cli"],
};

it("is the same key as a manifest and as a command", () => {
  expect(manifestOf(draft)).toEqual({
    apiVersion: "management.postern/v1",
    kind: "OwnedAccessKey",
    metadata: { name: "ci" },
    spec: {
      displayName: "CI of the 'shop'",
      team: "payments",
      ttl: 2_592_000,
      scope: {
        projects: [{ project: "shop" }],
        // The other one is in the project.
        virtualClusters: [{ project: "web", virtualCluster: "dev" }],
        roles: [{ role: "platform-cli" }],
      },
    },
  });
  expect(commandOf(draft)?.split(" \\\n  ")).toEqual([
    "postern key create ci",
    `--display-name 'CI of the '\\''shop'\\'''`,
    "--ttl 30d",
    "--team payments",
    "--project shop",
    "--virtual-cluster web/dev",
    "--role platform-cli",
  ]);
});

it("has no scope where it may do all, and an empty one where nothing is chosen", () => {
  expect(manifestOf({ ...EMPTY_DRAFT, isLimited: false })["spec"]).not.toHaveProperty("scope");
  expect(manifestOf(EMPTY_DRAFT)["spec"]).toHaveProperty("scope", {});
  // The command cannot say that.
  expect(commandOf(EMPTY_DRAFT)).toBeUndefined();
  expect(commandOf({ ...EMPTY_DRAFT, isLimited: false })).toContain("postern key create");
});

it("selects virtual clusters by labels, in each form", () => {
  const rows = [
    { project: "web", selector: "env=dev,tier in (a,b)", name: "" },
    { project: "shop", selector: "env=dev", name: "" },
    { project: "web", selector: "env=", name: "one" },
    { project: "web", selector: "env >", name: "" },
    { project: "", selector: "", name: "" },
  ];
  const scope = scopeOf({ ...draft, virtualClusters: [], selectors: rows });
  expect(scope?.virtualClusters).toEqual([
    {
      project: "web",
      selector: {
        matchLabels: { env: "dev" },
        matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] }],
      },
    },
    { project: "web", virtualCluster: "one", selector: { matchLabels: { env: "" } } },
  ]);
  expect(scopeOf(draftOfScope(scope))).toEqual(scope);
  expect(rows.map((row) => selectorFault(row) === undefined)).toEqual([true, true, true, false, true]);
  expect(scopeSummary({ scope })).toContain("virtual clusters by 2 selectors");
  const words = scopeWords({ scope }).can.map(({ text }) => text);
  expect(words.join()).toContain("virtual clusters of the project web that have the labels env=dev,tier in (a,b)");
  expect(words.join()).toContain("virtual cluster one of the project web while it has the labels env=");
  const plain = rows.slice(0, 2);
  expect(commandOf({ ...draft, virtualClusters: [], selectors: plain })).toContain(
    "--virtual-cluster-selector 'web/env=dev,tier in (a,b)'",
  );
  // The name would be lost.
  expect(commandOf({ ...draft, selectors: rows })).toBeUndefined();
});

it("makes a name that Kubernetes takes", () => {
  expect(nameFrom("  CI of the Shöp! ")).toBe("ci-of-the-sho-p");
  expect(nameFrom("…")).toBe("");
});

it("is read from a scope as it was made", () => {
  const scope = scopeOf(draft);
  expect(scopeOf(draftOfScope(scope))).toEqual(scope);
  expect(scopeOf(draftOfScope(undefined))).toBeUndefined();
});

it("reads a missing name of a scope as an empty one", () => {
  const scope: KeyScope = { spaces: [{ space: "dev" }], virtualClusters: [{ project: "shop" }], roles: [{}] };
  expect(draftOfScope(scope)).toMatchObject({ spaces: ["/dev"], virtualClusters: ["shop/"], roles: [""] });
  expect(scopeSummary({ scope })).not.toMatch(/undefined/);
  expect(
    scopeWords({ scope })
      .can.map(({ text }) => text)
      .join(),
  ).not.toMatch(/undefined/);
});

it("describes a scope in words", () => {
  expect(scopeSummary({})).toBe("everything its owner may do");
  expect(scopeSummary({ scope: {} })).toBe("nothing");
  expect(
    scopeSummary({ scope: { projects: [{ project: "a" }, { project: "b" }], clusters: [{ cluster: "*" }] } }),
  ).toBe("2 projects, all host clusters");
  const { can } = scopeWords({ scope: { virtualClusters: [{ project: "shop", virtualCluster: "dev" }] } });
  expect(can[0]?.text).toBe("use the virtual cluster dev of the project shop, and get kubeconfigs for it");
});

it("ends on a day, which no use moves", () => {
  const noon = new Date(2026, 10, 29, 12).getTime();
  const until = { ...draft, ttl: "day", day: "2026-12-01", restarts: true };
  expect(manifestOf(until, noon)["spec"]).toMatchObject({ ttl: 2.5 * 86_400 });
  expect(manifestOf(until, noon)["spec"]).not.toHaveProperty("ttlAfterLastActivity");
  expect(commandOf(until, noon)).toContain("--ttl 60h");
});

it("deploys without a right to change roles or to act as others", () => {
  const spec = manifestOf({ ...draft, inside: "edit" })["spec"] as { rules: { verbs: string[] }[] };
  expect(JSON.stringify(spec.rules)).not.toMatch(/rbac|serviceaccounts\/token|"\*"/);
  expect(spec.rules[0]?.verbs).toContain("deletecollection");
  expect(new Set(spec.rules.flatMap(({ verbs }) => verbs))).not.toContain("impersonate");
});

it("only reads, without Secrets, and no command creates such a key", () => {
  const spec = manifestOf({ ...draft, inside: "view" })["spec"] as { rules: { verbs: string[] }[] };
  expect(JSON.stringify(spec.rules)).not.toMatch(/secrets|"\*"/);
  expect(new Set(spec.rules.flatMap(({ verbs }) => verbs))).toEqual(
    new Set(["get", "list", "watch", "head", "create", "use"]),
  );
  expect(commandOf({ ...draft, inside: "view" })).toBeUndefined();
});
