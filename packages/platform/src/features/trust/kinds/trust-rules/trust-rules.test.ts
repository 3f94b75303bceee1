import { generateKeyPairSync } from "node:crypto";
import { createPlatformNames } from "@postern/api/platform-names";
import type { TrustRule } from "@postern/api/trust-rule";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { describe, expect, it } from "vitest";
import { validateTrustRule } from "./validation.ts";

const names = createPlatformNames({ domain: "postern", name: "postern", projectNamespacePrefix: "p-" });
const bot = { name: "bot", uid: "u", subject: "bot", groups: [], displayName: "", username: "", email: "" };
const directory = {
  user: (name: string) => (name === "bot" ? { ...bot, isBot: true, locked: false, identities: [] } : undefined),
};

const issuer = { url: "https://issuer.test" };
const rule = (spec: object = {}, namespace = ""): TrustRule =>
  ({
    apiVersion: "management.postern/v1",
    kind: "TrustRule",
    metadata: { name: "x", ...(namespace === "" ? {} : { namespace }) },
    spec: { issuer, audiences: ["a"], user: "bot", ...spec },
  }) as TrustRule;

const faults = (spec: object, namespace = "", old?: TrustRule): readonly string[] =>
  validateTrustRule(rule(spec, namespace), old, { names, directory }).map(
    ({ field, message }) => `${field}: ${message}`,
  );

const jwkOf = (type: "rsa" | "ec", options: object, form: "publicKey" | "privateKey" = "publicKey"): object =>
  (generateKeyPairSync as any)(type, options)[form].export({ format: "jwk" });
const P256 = { namedCurve: "P-256" };
const setOf = (...keys: readonly object[]): string => JSON.stringify({ keys });

const UUID = "0184990a-477b-4fa8-9968-496074483cee";

describe("a trust rule", () => {
  it.each([
    ["any issuer", {}],
    ["GitHub by its preset", { issuer: { preset: "github" }, claims: [{ claim: "repository_id", values: ["74"] }] }],
    [
      "GitHub by its owner",
      { issuer: { preset: "github" }, claims: [{ claim: "repository_owner_id", values: ["65"] }] },
    ],
    [
      "GitLab of one's own",
      { issuer: { preset: "gitlab", url: "https://git.test" }, claims: [{ claim: "project_id", values: ["1", "2"] }] },
    ],
    ["Buildkite", { issuer: { preset: "buildkite" }, claims: [{ claim: "pipeline_id", values: [UUID] }] }],
    [
      "Kubernetes with keys that are given",
      {
        issuer: { preset: "kubernetes", url: "kubernetes/serviceaccount", jwks: setOf(jwkOf("ec", P256)) },
        claims: [{ claim: "/kubernetes.io/serviceaccount/uid", values: [UUID] }],
      },
    ],
    [
      "a workspace of HCP Terraform",
      {
        issuer: { url: "https://app.terraform.io" },
        claims: [{ claim: "terraform_workspace_id", values: ["ws-mbsd5E3Ktt5Rg2Xm"] }],
      },
    ],
    [
      "a service account of Google",
      {
        issuer: { url: "https://accounts.google.com" },
        claims: [{ claim: "sub", values: ["117482910374651029384"] }],
      },
    ],
    ["a condition", { conditions: [{ expression: "claims.ref.startsWith('refs/heads/') && size(claims) > 2" }] }],
    ["certificates of its own", { issuer: { ...issuer, certificateAuthority: createTestCertificate().cert } }],
    ["discovery elsewhere", { issuer: { url: "urn:issuer", discoveryURL: "https://a.test/x?y=z" } }],
    ["a scope that reaches anywhere", { scope: { clusters: [{ cluster: "*" }] } }],
  ])("may be about %s", (_, spec) => {
    expect(faults(spec)).toEqual([]);
  });

  it.each([
    ["a preset without a claim that stays", { issuer: { preset: "github" } }, "spec.claims: Required value"],
    [
      "a name in its place",
      { issuer: { preset: "github" }, claims: [{ claim: "repository_id", values: ["octo-org/octo-repo"] }] },
      "spec.claims[0].values[0]: Invalid value",
    ],
    [
      "names alone",
      { issuer: { preset: "github" }, claims: [{ claim: "repository", values: ["octo-org/octo-repo"] }] },
      "spec.claims: Required value",
    ],
    [
      "the address of a known issuer without its preset",
      { issuer: { url: "https://token.actions.githubusercontent.com" } },
      "spec.claims: Required value",
    ],
    ["the same with a slash at its end", { issuer: { url: "https://gitlab.com/" } }, "spec.claims: Required value"],
    [
      "HCP Terraform, which has one issuer for all organizations, without an ID",
      {
        issuer: { url: "https://app.terraform.io" },
        claims: [{ claim: "terraform_workspace_name", values: ["shop"] }],
      },
      "spec.claims: Required value",
    ],
    [
      "a name in place of its ID",
      { issuer: { url: "https://app.terraform.io" }, claims: [{ claim: "terraform_workspace_id", values: ["shop"] }] },
      "spec.claims[0].values[0]: Invalid value",
    ],
    [
      "Google, which has one issuer for everyone, by an address",
      { issuer: { url: "https://accounts.google.com" }, claims: [{ claim: "email", values: ["a@b.test"] }] },
      "spec.claims: Required value",
    ],
    [
      "a preset that says no address",
      { issuer: { preset: "kubernetes" }, claims: [{ claim: "/kubernetes.io/serviceaccount/uid", values: [UUID] }] },
      "spec.issuer.url: Required value",
    ],
    ["no issuer", { issuer: {} }, "spec.issuer.url: Required value"],
    ["plain HTTP", { issuer: { url: "http://issuer.test" } }, "spec.issuer.url: Invalid value"],
    ["a file", { issuer: { url: "file:///etc/passwd" } }, "spec.issuer.url: Invalid value"],
    [
      "a password in the address",
      { issuer: { url: "https://u:p@issuer.test" } },
      'spec.issuer.url: Invalid value: "<hidden>"',
    ],
    ["a query", { issuer: { url: "https://issuer.test/?a=b" } }, "spec.issuer.url: Invalid value"],
    [
      "discovery over HTTP",
      { issuer: { ...issuer, discoveryURL: "http://a.test" } },
      "spec.issuer.discoveryURL: Invalid value",
    ],
    [
      "two sources of keys",
      { issuer: { ...issuer, discoveryURL: "https://a.test", jwks: setOf(jwkOf("ec", P256)) } },
      "spec.issuer.discoveryURL: Forbidden",
    ],
    [
      "a private key",
      { issuer: { ...issuer, jwks: setOf(jwkOf("ec", P256, "privateKey")) } },
      'spec.issuer.jwks: Invalid value: "<hidden>"',
    ],
    ["a secret", { issuer: { ...issuer, jwks: setOf({ kty: "oct", k: "AAAA" }) } }, "spec.issuer.jwks: Invalid value"],
    [
      "a weak key",
      { issuer: { ...issuer, jwks: setOf(jwkOf("rsa", { modulusLength: 1024 })) } },
      "spec.issuer.jwks: Invalid value",
    ],
    [
      "a key that signs nothing",
      { issuer: { ...issuer, jwks: setOf({ ...jwkOf("ec", P256), use: "enc" }) } },
      "spec.issuer.jwks: Invalid value",
    ],
    ["no key set", { issuer: { ...issuer, jwks: "{}" } }, "spec.issuer.jwks: Invalid value"],
    [
      "no certificate",
      { issuer: { ...issuer, certificateAuthority: "x" } },
      "spec.issuer.certificateAuthority: Invalid value",
    ],
    ["a star for an audience", { audiences: ["*"] }, "spec.audiences[0]: Invalid value"],
    ["an audience twice", { audiences: ["a", "a"] }, "spec.audiences[1]: Duplicate value"],
    [
      "a condition that is none",
      { conditions: [{ expression: "claims.x ==" }] },
      "spec.conditions[0].expression: Invalid value",
    ],
    [
      "a condition about something else",
      { conditions: [{ expression: "request.path == ''" }] },
      "spec.conditions[0].expression: Invalid value",
    ],
    [
      "a condition that is a number",
      { conditions: [{ expression: "1 + 1" }] },
      "spec.conditions[0].expression: Invalid value",
    ],
    ["a user that there is not", { user: "nobody" }, "spec.user: Not found"],
    ["an unknown role", { scope: { roles: [{ role: "root" }] } }, "spec.scope.roles[0].role: Unsupported value"],
  ])("is refused with %s", (_, spec, fault) => {
    expect(faults(spec)).toEqual([expect.stringContaining(fault)]);
  });

  it("keeps a deleted user, so that the rule can be changed", () => {
    expect(faults({ user: "gone" }, "", rule({ user: "gone" }))).toEqual([]);
  });
});

describe("a trust rule of a project", () => {
  it.each([
    ["no scope", {}],
    ["its project", { scope: { projects: [{ project: "a" }] } }],
    [
      "what is in it",
      { scope: { virtualClusters: [{ project: "a", virtualCluster: "*" }], spaces: [{ project: "a", space: "s" }] } },
    ],
  ])("may allow %s", (_, spec) => {
    expect(faults(spec, "p-a")).toEqual([]);
  });

  it.each([
    ["another project", { scope: { projects: [{ project: "b" }] } }, "spec.scope.projects[0].project: Invalid value"],
    ["every project", { scope: { projects: [{ project: "*" }] } }, "spec.scope.projects[0].project: Invalid value"],
    [
      "a virtual cluster of another",
      { scope: { virtualClusters: [{ project: "b", virtualCluster: "c" }] } },
      "spec.scope.virtualClusters[0].project: Invalid value",
    ],
    [
      "a space of another",
      { scope: { spaces: [{ project: "b", space: "s" }] } },
      "spec.scope.spaces[0].project: Invalid value",
    ],
    ["a cluster", { scope: { clusters: [{ cluster: "c" }] } }, "spec.scope.clusters: Forbidden"],
    ["a role", { scope: { roles: [{ role: "metrics-reader" }] } }, "spec.scope.roles: Forbidden"],
  ])("does not allow %s", (_, spec, fault) => {
    expect(faults(spec, "p-a")).toEqual([expect.stringContaining(fault)]);
  });

  it("is in the namespace of a project", () => {
    expect(faults({}, "default")).toEqual([expect.stringContaining("metadata.namespace: Invalid value")]);
  });
});
