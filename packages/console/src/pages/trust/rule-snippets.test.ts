import type { TrustRule } from "@postern/api/trust-rule";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { snippetFor, systemOf } from "./rule-snippets.ts";

const ruleWith = (spec: object): TrustRule =>
  ({
    ...{ apiVersion: "management.postern/v1", kind: "ClusterTrustRule", metadata: { name: "deploy" } },
    spec: { issuer: { preset: "github" }, audiences: ["https://postern.test"], ...spec },
  }) as unknown as TrustRule;
const given = { project: undefined, origin: "https://postern.test", hasAuthority: false };
const DEMO = { virtualClusters: [{ project: "shop", virtualCluster: "dev" }] };

describe("a snippet for a trust rule", () => {
  it("is a workflow of GitHub Actions with the address, the rule and the virtual cluster of its scope", () => {
    const rule = ruleWith({ scope: DEMO });
    const { permissions, jobs } = parse(snippetFor(systemOf(rule), { ...given, rule }).text);
    expect(permissions).toMatchObject({ "id-token": "write" });
    expect(jobs.deploy.env).toEqual({ POSTERN_URL: "https://postern.test" });
    const runs = jobs.deploy.steps.map(({ run }: { run?: string }) => run);
    expect(runs).toContain("postern ci login --rule deploy");
    expect(runs).toContain(`postern kubeconfig dev --project shop > "$RUNNER_TEMP/kubeconfig"`);
  });

  it("asks GitHub for another audience where the rule has one, and hands on the CA of the server", () => {
    const rule = ruleWith({ audiences: ["shop deploys"] });
    const { text } = snippetFor("github", { ...given, rule, hasAuthority: true });
    expect(text).toContain("--audience 'shop deploys'");
    expect(parse(text).jobs.deploy.env.POSTERN_CA).toBe("${" + "{ vars.POSTERN_CA }}");
  });

  it("is a job of GitLab with a token for the audience, and the project of the rule", () => {
    const rule = ruleWith({ issuer: { preset: "gitlab" }, audiences: ["own"] });
    expect(systemOf(rule)).toBe("gitlab");
    const { deploy } = parse(snippetFor("gitlab", { ...given, rule, project: "shop" }).text);
    expect(deploy.id_tokens).toEqual({ POSTERN_ID_TOKEN: { aud: "own" } });
    expect(deploy.script[0]).toBe('eval "$(postern ci login --project shop --rule deploy)"');
    expect(deploy.script[1]).toContain("--project shop");
  });

  it.each(["https://oidc.circleci.com/org/o", "https://app.terraform.io"])(
    "is a script for the issuer %s, whose tokens the command finds",
    (url) => {
      const rule = ruleWith({ issuer: { url }, scope: DEMO });
      expect(systemOf(rule)).toBe("shell");
      expect(
        snippetFor("shell", { ...given, rule, hasAuthority: true })
          .text.split("\n")
          .slice(0, 3),
      ).toEqual([
        "export POSTERN_URL=https://postern.test POSTERN_CA=ca.crt",
        'eval "$(postern ci login --rule deploy)"',
        "postern kubeconfig dev --project shop > kubeconfig",
      ]);
    },
  );

  it("is a token exchange for all others", () => {
    const rule = ruleWith({ issuer: { url: "https://issuer.test" } });
    expect(systemOf(rule)).toBe("curl");
    const { text } = snippetFor("curl", { ...given, rule, project: "shop", hasAuthority: true });
    expect(text).toContain("--cacert ca.crt https://postern.test/oauth/token");
    expect(text).toContain("audience=shop/deploy");
  });
});
