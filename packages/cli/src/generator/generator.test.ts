// `postern generator` against a whole server.

import { type RunningPlatform, startPlatform } from "@postern/platform/testing/running-platform";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { parseSelector } from "./create.ts";

let platform: RunningPlatform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform[Symbol.asyncDispose]());

const run = (...args: readonly string[]) =>
  runCommand(["generator", ...args], { KUBECONFIG: platform.server.adminKubeconfigPath });
const GENERATORS = "namespaces/p-default/kubeconfiggenerators";

describe("postern generator", () => {
  it("creates a generator, shows each virtual cluster, and deletes all of it", async () => {
    expect(await run("list")).toMatchObject({ code: 0, stderr: "no kubeconfig generators in project default\n" });
    const made = await run("create", "fleet", "--read-only", "--ttl", "2d");
    expect(made).toMatchObject({ code: 0, stdout: "kubeconfig generator fleet keeps the Secret p-default/fleet\n" });
    await expect
      .poll(async () => (await run("get", "fleet")).stdout, { timeout: 30_000 })
      .toMatch(/^state: +Ready$[\s\S]*\ndemo +Ready +fleet +\S+ +20/m);
    expect((await run("list")).stdout).toMatch(/^NAME .*\nfleet .* True /);
    expect((await run("list", "-o", "name")).stdout).toBe("fleet\n");
    const { stdout } = await run("get", "fleet", "-o", "json");
    expect(JSON.parse(stdout).spec).toEqual({
      selector: {},
      role: "view",
      ttlSeconds: 172_800,
      secretRef: { name: "fleet" },
    });
    expect(JSON.parse((await run("get", "default/fleet", "-o", "json")).stdout).metadata.name).toBe("fleet");
    expect((await run("get", "default/fleet", "--project", "other")).stderr).toContain("names another project");
    expect((await run("get", "default/")).stderr).toContain("<project>/<name>");
    expect((await run("delete", "fleet")).stderr).toContain("--yes");
    expect((await run("delete", "fleet", "--yes")).stdout).toBe("kubeconfig generator fleet deleted\n");
    await expect.poll(async () => (await platform.send({ path: `${GENERATORS}/fleet` })).status).toBe(404);
  });

  it("passes on what the server refuses, and writes the other fields", async () => {
    const flux = await run(
      "create",
      "flux",
      "--format",
      "Flux",
      "--secret",
      "keys",
      "--selector",
      "env=dev,!old",
      "--secret-key",
      "kubeconfig",
      "--secret-label",
      "team=shop",
      "--secret-label",
      "tier=",
      "--copy-label",
      "env",
      "--copy-label",
      "region",
    );
    expect(flux.code, flux.stderr).toBe(0);
    expect((await platform.send({ path: `${GENERATORS}/flux` })).body.spec).toEqual({
      selector: { matchLabels: { env: "dev" }, matchExpressions: [{ key: "old", operator: "DoesNotExist" }] },
      format: "Flux",
      secretRef: { name: "keys", key: "kubeconfig" },
      secretTemplate: { labels: { team: "shop", tier: "" }, copyLabels: ["env", "region"] },
    });
    const settings = ["--argocd-project", "shop", "--argocd-namespace", "web", "--argocd-namespace", "api"];
    const more = ["--argocd-cluster-resources", "--argocd-shard", "0"];
    const argo = await run("create", "argo", "--format", "ArgoCD", ...settings, ...more);
    expect(argo.code, argo.stderr).toBe(0);
    expect((await platform.send({ path: `${GENERATORS}/argo` })).body.spec).toEqual({
      selector: {},
      format: "ArgoCD",
      secretRef: { name: "argo" },
      argoCD: { project: "shop", namespaces: ["web", "api"], clusterResources: true, shard: 0 },
    });
    expect((await run("create", "bad", "--argocd-project", "shop")).stderr).toContain("spec.argoCD");
    expect((await run("create", "bad", "--argocd-shard", "one")).stderr).toContain("--argocd-shard");
    expect((await run("create", "flux")).stderr).toContain("already exists");
    expect((await run("create", "short", "--ttl", "5m")).stderr).toContain("spec.ttlSeconds");
    expect((await run("create", "bad", "--selector", "a in")).stderr).toContain("--selector");
    expect((await run("create", "bad", "--secret-label", "a")).stderr).toContain("key=value");
    expect((await run("get", "none")).code).not.toBe(0);
  });
});

it.each([
  ["env=dev", { matchLabels: { env: "dev" } }],
  [
    "env==dev,env=prod",
    { matchLabels: { env: "dev" }, matchExpressions: [{ key: "env", operator: "In", values: ["prod"] }] },
  ],
  ["tier in (a,b)", { matchExpressions: [{ key: "tier", operator: "In", values: ["a", "b"] }] }],
  ["zone!=c", { matchExpressions: [{ key: "zone", operator: "NotIn", values: ["c"] }] }],
  ["old", { matchExpressions: [{ key: "old", operator: "Exists" }] }],
])("reads the selector %s", (text, selector) => {
  expect(parseSelector(text)).toEqual(selector);
});
