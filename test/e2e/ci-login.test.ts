// CI jobs get access keys by their own identity: as GitHub, GitLab and Buildkite hand it to them, and with the tokens of a real cluster.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  awsClaims,
  bitbucketClaims,
  buildkiteClaims,
  circleciClaims,
  githubClaims,
  gitlabClaims,
  terraformClaims,
} from "@postern/platform/features/trust/testing/ci-claims";
import { type ServedIssuer, serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AttackedServer, startAttacked } from "../attacks/testing/attacking.ts";
import { ENTRY, NODE } from "./testing/postern-process.ts";

const CLUSTER = "/kubernetes/project/default/virtualcluster/demo";

let server: AttackedServer;
let issuer: ServedIssuer;
let directory: string;
let audience: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "postern-ci-"));
  [server, issuer] = await Promise.all([
    startAttacked(["--proxy-allowed-addresses", "127.0.0.1/32"]),
    serveIssuer({ path: "/octo" }),
  ]);
  audience = server.process.url;
  await server.must({ path: "users", body: { metadata: { name: "bot" }, spec: { kind: "Bot" } } });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
  await rm(directory, { recursive: true, force: true });
});

const rule = (name: string, spec: object, path = "clustertrustrules"): Promise<any> =>
  server.must({
    path,
    body: {
      metadata: { name },
      spec: { audiences: [audience], user: "bot", scope: { projects: [{ project: "default" }] }, ...spec },
    },
  });
const given = (preset: string) => ({ preset, url: issuer.url, jwks: issuer.keySet() });

type Ran = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** The command in a job that has nothing but these variables. */
function job(args: readonly string[], environment: { readonly [name: string]: string } = {}, input = ""): Promise<Ran> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: directory, POSTERN_CA: server.process.caFile, ...environment };
  return new Promise((resolve, reject) => {
    const child = spawn(NODE, [ENTRY, ...args], { env });
    const out = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => (out.stdout += chunk));
    child.stderr.on("data", (chunk) => (out.stderr += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, ...out }));
    child.stdin.end(input);
  });
}

const whoIs = async (key: string): Promise<string> => {
  const { body } = await server.send({ path: "selves", as: key, body: {} });
  return body.status?.user?.name ?? body.message;
};

describe("postern ci login", () => {
  it("in GitHub Actions asks GitHub, and leaves the key to the following steps", async () => {
    await rule("github", { issuer: given("github"), claims: [{ claim: "repository_id", values: ["74"] }] });
    const asked: string[] = [];
    const github = createServer(async (request, response) => {
      asked.push(`${request.headers.authorization} ${request.url}`);
      const { searchParams } = new URL(request.url ?? "", "http://localhost");
      const value = await issuer.sign(githubClaims({ aud: searchParams.get("audience") }));
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ value, count: 1 }));
    });
    await new Promise<void>((resolve) => github.listen(0, "127.0.0.1", resolve));
    const { port } = github.address() as AddressInfo;
    const file = join(directory, "github-env");
    await writeFile(file, "");
    const { code, stdout, stderr } = await job(["ci", "login", "--server", server.process.url, "--rule", "github"], {
      GITHUB_ACTIONS: "true",
      GITHUB_ENV: file,
      ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: "runner",
    });
    github.close();
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^access key for 3\d{3} seconds, for the identity from GitHub Actions\n$/),
    ]);
    expect(asked).toEqual([`Bearer runner /token?api-version=2.0&audience=${encodeURIComponent(audience)}`]);
    const left = Object.fromEntries(
      (await readFile(file, "utf8"))
        .trim()
        .split("\n")
        .map((line) => line.split("=")),
    );
    expect(stdout).toBe(`::add-mask::${left["POSTERN_TOKEN"]}\n`);
    expect(await whoIs(left["POSTERN_TOKEN"] as string)).toBe("bot");
    // The next step.
    const next = await job(["whoami", "-o", "json"], left as { readonly [name: string]: string });
    expect([next.code, next.stdout]).toEqual([0, expect.stringContaining('"bot"')]);
  });

  it("in GitLab takes the variable of id_tokens, and asks the rules of a project", async () => {
    const members = [{ kind: "User", name: "bot", clusterRole: "postern:project-user" }];
    await server.must({ path: "projects", body: { metadata: { name: "team" }, spec: { members } } });
    const spec = { issuer: given("gitlab"), claims: [{ claim: "project_id", values: ["20"] }], scope: undefined };
    await rule("pipeline", spec, "namespaces/p-team/trustrules");
    const POSTERN_ID_TOKEN = await issuer.sign(gitlabClaims({ aud: audience }));
    const file = join(directory, "postern.env");
    const flags = ["ci", "login", "--server", server.process.url, "--project", "team", "--write-env", file];
    const { code, stderr } = await job(flags, { GITLAB_CI: "true", POSTERN_ID_TOKEN });
    expect([code, stderr]).toEqual([0, expect.stringContaining("the variable POSTERN_ID_TOKEN")]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const key = /POSTERN_TOKEN=(\S+)/.exec(await readFile(file, "utf8"))?.[1] ?? "";
    expect((await server.send({ path: "projects/team", as: key })).status).toBe(200);
    expect((await server.send({ path: "projects/default", as: key })).status).toBe(403);
    expect((await server.send({ path: "ownedaccesskeys", as: key })).status).toBe(403);
  });

  it("in Buildkite takes a variable, and prints what a shell reads", async () => {
    const claims = [{ claim: "pipeline_id", values: ["0184990a-477b-4fa8-9968-496074483c00"] }];
    await rule("buildkite", { issuer: given("buildkite"), claims });
    const TOKEN = await issuer.sign(buildkiteClaims({ aud: audience }));
    const flags = ["ci", "login", "--rule", "buildkite", "--token-variable", "TOKEN"];
    const { code, stdout } = await job(flags, { BUILDKITE: "true", TOKEN, POSTERN_URL: server.process.url });
    const key = /export POSTERN_TOKEN='?([^'\s]+)/.exec(stdout)?.[1] ?? "";
    expect([code, await whoIs(key)]).toEqual([0, "bot"]);
    const printed = await job([...flags, "--print"], { TOKEN, POSTERN_URL: server.process.url });
    expect(await whoIs(printed.stdout.trim())).toBe("bot");
  });

  // Without a preset, by the claims and the variable of the guide.
  it.each<[string, (claims?: object) => object, string, string, string, string]>([
    [
      ...(["circleci", circleciClaims, "4b2f1c3e-0000-4000-8000-000000000001"] as const),
      ...(["oidc.circleci.com/project-id", "4b2f1c3e-0000-4000-8000-000000000002", "CIRCLE_OIDC_TOKEN_V2"] as const),
    ],
    [
      ...([
        "bitbucket",
        bitbucketClaims,
        "ari:cloud:bitbucket::workspace/c3d1a5f0-0000-4000-8000-000000000003",
      ] as const),
      ...(["repositoryUuid", "{c3d1a5f0-0000-4000-8000-000000000001}", "BITBUCKET_STEP_OIDC_TOKEN"] as const),
    ],
    [
      ...(["terraform", terraformClaims, "https://postern.example"] as const),
      ...(["terraform_workspace_id", "ws-mbsd5E3Ktt5Rg2Xm", "TFC_WORKLOAD_IDENTITY_TOKEN"] as const),
    ],
    [
      ...(["aws", awsClaims, "https://postern.example"] as const),
      ...(["/https:~1~1sts.amazonaws.com~1/aws_account", "123456789012", "POSTERN_ID_TOKEN"] as const),
    ],
  ])("takes the token of %s", async (name, claimsOf, aud, claim, value, variable) => {
    const of = { issuer: { url: issuer.url, jwks: issuer.keySet() }, audiences: [aud] };
    await rule(name, { ...of, claims: [{ claim, values: [value] }] });
    const run = async (claims: object): Promise<Ran> =>
      await job(["ci", "login", "--print", "--rule", name], {
        POSTERN_URL: server.process.url,
        [variable]: await issuer.sign(claims as any),
      });
    const { code, stdout, stderr } = await run(claimsOf());
    expect([code, stderr]).toEqual([0, expect.stringContaining(`the variable ${variable}`)]);
    expect(await whoIs(stdout.trim())).toBe("bot");
    expect((await run(claimsOf({ aud: "https://another.example" }))).code).toBe(1);
  });

  it.each([
    ["GitHub", { GITHUB_ACTIONS: "true" }, "id-token: write"],
    ["GitLab", { GITLAB_CI: "true" }, "id_tokens"],
    ["Buildkite", { BUILDKITE: "true" }, "buildkite-agent oidc request-token"],
    ["Kubernetes", { KUBERNETES_SERVICE_HOST: "10.0.0.1" }, "projected ServiceAccount token"],
    ["nobody", {}, "POSTERN_ID_TOKEN_FILE to a file"],
  ])("says what a job of %s lacks", async (_, environment, advice) => {
    const { code, stderr } = await job(["ci", "login", "--server", server.process.url], environment);
    expect([code, stderr]).toEqual([1, expect.stringContaining(advice)]);
  });
});

describe("an embedded virtual cluster as a Kubernetes issuer", () => {
  const account = async (name: string): Promise<string> =>
    (await server.must({ path: `${CLUSTER}/api/v1/namespaces/default/serviceaccounts`, body: { metadata: { name } } }))
      .metadata.uid;
  const tokenOf = async (name: string): Promise<string> => {
    const path = `${CLUSTER}/api/v1/namespaces/default/serviceaccounts/${name}/token`;
    const spec = { audiences: [audience], expirationSeconds: 600 };
    return (await server.must({ path, body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec } }))
      .status.token;
  };
  const login = async (name: string, file: string): Promise<Ran> =>
    job(["ci", "login", "--print", "--rule", name], { POSTERN_URL: server.process.url, POSTERN_ID_TOKEN_FILE: file });

  it("has its ServiceAccounts taken by their uid, with its keys in the rule or found by discovery", async () => {
    const uid = await account("ci");
    const { issuer: iss } = await server.must({ path: `${CLUSTER}/.well-known/openid-configuration` });
    const jwks = await server.must({ path: `${CLUSTER}/openid/v1/jwks` });
    const claims = [{ claim: "/kubernetes.io/serviceaccount/uid", values: [uid] }];
    await rule("inline", { issuer: { preset: "kubernetes", url: iss, jwks: JSON.stringify(jwks) }, claims });
    // As clouds do: the documents of a cluster at a public place.
    const place = await serveIssuer();
    place.intercept = ({ url }, response) =>
      response.end(JSON.stringify(url === "/keys" ? jwks : { issuer: iss, jwks_uri: `${place.url}/keys` }));
    await rule("discovered", {
      issuer: {
        preset: "kubernetes",
        url: iss,
        discoveryURL: `${place.url}/demo/.well-known/openid-configuration`,
        certificateAuthority: place.certificateAuthorityPem,
      },
      claims,
    });
    const file = join(directory, "token");
    await writeFile(file, await tokenOf("ci"));
    for (const name of ["inline", "discovered"]) {
      const { code, stdout, stderr } = await login(name, file);
      expect([name, code, stderr]).toEqual([name, 0, expect.stringContaining(file)]);
      expect(await whoIs(stdout.trim())).toBe("bot");
    }
    // Each thread that serves requests reads them for itself.
    expect(new Set(place.requests)).toEqual(new Set(["/demo/.well-known/openid-configuration", "/keys"]));

    // Another account of the same name is another user.
    await server.must({ method: "DELETE", path: `${CLUSTER}/api/v1/namespaces/default/serviceaccounts/ci` });
    await account("ci");
    await writeFile(file, await tokenOf("ci"));
    expect((await login("inline", file)).code).toBe(1);
    await place[Symbol.asyncDispose]();
  });
});

describe("postern trust test", () => {
  it("says which conditions hold, and fails where one does not", async () => {
    await rule("tested", {
      issuer: given("github"),
      claims: [{ claim: "repository_id", values: ["74"] }],
      conditions: [{ expression: "claims.ref == 'refs/heads/main'", message: "main alone" }],
    });
    const flags = ["trust", "test", "tested", "--kubeconfig", server.process.adminKubeconfig];
    const good = await job(flags, {}, await issuer.sign(githubClaims({ aud: audience })));
    expect([good.code, good.stderr]).toEqual([0, ""]);
    expect(good.stdout).toMatch(/^Signature +True +spec\.issuer +the issuer signed the token$/m);
    const bad = await job(flags, {}, await issuer.sign(githubClaims({ aud: audience, ref: "refs/heads/x" })));
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringContaining("does not accept the token")]);
    expect(bad.stdout).toMatch(/^Condition +False +spec\.conditions\[0\] +it is not true: main alone$/m);
    await rule(
      "tested",
      { issuer: given("github"), claims: [{ claim: "repository_id", values: ["74"] }] },
      "namespaces/p-default/trustrules",
    );
    const ofProject = ["trust", "test", "default/tested", ...flags.slice(3)];
    const accepted = await job(ofProject, {}, await issuer.sign(githubClaims({ aud: audience })));
    expect([accepted.code, accepted.stderr]).toEqual([0, ""]);
    const twice = await job([...ofProject, "--project", "default"], {}, "no token");
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining("name the project once")]);
    const json = await job([...flags, "-o", "json"], {}, "no token");
    expect(JSON.parse(json.stdout)).toMatchObject({ accepted: false });
  });
});
