import { expect, it } from "vitest";
import { choiceOf, ISSUERS, needsOf, presetIn, suggestedClaims, withIssuer } from "./issuer-choices.ts";

const ORIGIN = "https://postern.test";
const draft = { issuer: "github", url: "", audiences: ORIGIN, claims: suggestedClaims("github") } as const;

it.each([
  [{ preset: "gitlab", url: "https://gitlab.test" }, "gitlab"],
  [{ url: "https://oidc.circleci.com/org/0d5c" }, "circleci"],
  [{ url: "https://api.bitbucket.org/2.0/workspaces/shop/pipelines-config/identity/oidc" }, "bitbucket"],
  [{ url: "https://app.terraform.io" }, "terraform"],
  [{ url: "https://app.terraform.io.test" }, "other"],
  [{ url: "https://api.bitbucket.org.test/" }, "other"],
  [{}, "other"],
] as const)("reads the issuer %j as %s", (issuer, choice) => {
  expect(choiceOf(issuer)).toBe(choice);
});

it("has a claim to require for each issuer but others, the narrowest one", () => {
  expect(Object.fromEntries(ISSUERS.map((issuer) => [issuer, suggestedClaims(issuer)[0]?.claim]))).toEqual({
    github: "repository_id",
    gitlab: "project_id",
    buildkite: "pipeline_id",
    circleci: "oidc.circleci.com/project-id",
    bitbucket: "repositoryUuid",
    terraform: "terraform_workspace_id",
    kubernetes: "/kubernetes.io/serviceaccount/uid",
    other: undefined,
  });
});

it("requires a URL where the API has no default, and a claim where the server does", () => {
  const requiring = (need: "isUrlRequired" | "isClaimRequired") => ISSUERS.filter((issuer) => needsOf(issuer)[need]);
  expect(requiring("isUrlRequired")).toEqual(["circleci", "bitbucket", "terraform", "kubernetes", "other"]);
  expect(requiring("isClaimRequired")).toEqual(["github", "gitlab", "buildkite", "terraform", "kubernetes"]);
  expect(ISSUERS.filter((issuer) => presetIn(issuer) !== undefined)).toEqual([
    ...["github", "gitlab", "buildkite", "kubernetes"],
  ]);
});

it("fills in what a service has, and clears it for another", () => {
  const terraform = withIssuer("terraform", draft, ORIGIN);
  expect(terraform).toMatchObject({ url: "https://app.terraform.io", audiences: ORIGIN });
  const circleci = withIssuer("circleci", terraform, ORIGIN);
  expect(circleci).toMatchObject({ url: "", audiences: "" });
  expect(withIssuer("github", circleci, ORIGIN)).toEqual(draft);
});

it("keeps what was filled in for another issuer", () => {
  const given = { ...draft, url: "https://issuer.test", audiences: "own", claims: [{ claim: "sub", value: "job" }] };
  expect(withIssuer("bitbucket", given, ORIGIN)).toEqual({ ...given, issuer: "bitbucket" });
});
