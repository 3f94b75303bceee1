// The files in examples/ci, with the rules of the guide: their commands as they stand there, in the shell that each system runs them in, and with
// tokens that carry the claims of each system. Only the address of the server is another one here.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { buildkiteClaims, githubClaims, gitlabClaims } from "@postern/platform/features/trust/testing/ci-claims";
import { type ServedIssuer, serveIssuer } from "@postern/platform/foundation/issuers/testing/serve-issuer";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { KUBERNETES_RELEASES, kubernetesTools } from "./testing/kubernetes-tools.ts";
import {
  ENTRY,
  kubectlWith,
  NODE,
  type Outcome,
  type PosternProcess,
  postern,
  REPOSITORY,
  startPostern,
  succeed,
  temporaryDirectory,
} from "./testing/postern-process.ts";

const PLATFORM = "https://postern.example.com";

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let issuer: ServedIssuer;
let admin: ReturnType<typeof kubectlWith>;
/** As the administrator of the virtual cluster. */
let inside: ReturnType<typeof kubectlWith>;

const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8").replaceAll(PLATFORM, server.url);
const example = (name: string): any =>
  parseAllDocuments(read(`examples/ci/${name}`))
    .at(-1)
    ?.toJS();

/** The blocks of a language in a section of the guide. */
function blocks(heading: string, language: string): readonly string[] {
  const [section = ""] = (read("docs/guides/ci.md").split(`\n## ${heading}\n`)[1] ?? "").split("\n## ");
  return [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, of, block = ""]) =>
    of === language ? [block] : [],
  );
}

beforeAll(async () => {
  [directory, issuer] = await Promise.all([temporaryDirectory(), serveIssuer({ path: "/octo" })]);
  server = await startPostern(join(directory.path, "data"));
  admin = kubectlWith(server.adminKubeconfig, join(directory.path, "cache"));
  // As the guide calls it.
  const cluster = join(directory.path, "cluster.kubeconfig");
  const flags = ["--project", "default", "--kubeconfig", server.adminKubeconfig, "--out", cluster];
  await succeed(postern("kubeconfig", "demo", ...flags));
  inside = kubectlWith(cluster, join(directory.path, "cache-inside"));
  await mkdir(join(directory.path, "bin"));
  await program("postern", `exec ${NODE} ${ENTRY} "$@"`);
  // test/install/npm-package.test.ts installs it.
  await program("npm", '[ "$*" = "install --global postern" ]');
  await succeed(admin(["apply", "--filename", "-"], blocks("Bots", "yaml").join("---\n")));
  await joinProject("release-bot");
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

async function program(name: string, script: string): Promise<void> {
  const path = join(directory.path, "bin", name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

type Variables = { readonly [name: string]: string };

/** A command with nothing but these variables, in the folder of a checkout. Its output may contain a key: jobs hide that. */
async function shell([command = "", ...args]: readonly string[], variables: Variables): Promise<Outcome> {
  const { path } = directory;
  const home = { PATH: `${path}/bin:${process.env["PATH"]}`, HOME: path, POSTERN_CA: server.caFile };
  const child = spawn(command, args, { cwd: path, env: { ...home, ...variables }, stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number>((resolve) => child.once("close", (status) => resolve(status ?? 1))),
  ]);
  return { code, stdout, stderr };
}
const bash = (script: string, variables: Variables): Promise<Outcome> =>
  shell(["bash", "-eo", "pipefail", "-c", script], variables);
const asAdministrator = (script: string): Promise<string> =>
  succeed(bash(script, { KUBECONFIG: server.adminKubeconfig }));

/** By the command of the guide. */
const joinProject = (bot: string): Promise<string> =>
  asAdministrator((blocks("Bots", "sh")[0] ?? "").replaceAll("release-bot", bot));

/** Writes the manifest to be deployed. */
async function checkOut(name: string): Promise<void> {
  await mkdir(join(directory.path, "deploy"), { recursive: true });
  const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { from: name } };
  await writeFile(join(directory.path, "deploy/deployed.yaml"), stringify(manifest));
}
const deployed = (name: string): Promise<string> =>
  succeed(inside(["get", "configmap", name, "--output", "jsonpath={.data.from}"]));

/** Applies the manifests, with this test's issuer and values of its tokens, and makes their bots members of the project. */
async function trust(manifest: string, claims: Variables = {}): Promise<void> {
  const manifests = parseAllDocuments(manifest).map((document) => document.toJS());
  for (const { spec } of manifests.filter(({ kind }) => kind.endsWith("TrustRule"))) {
    spec.issuer = { ...spec.issuer, url: issuer.url, jwks: issuer.keySet() };
    for (const each of spec.claims) each.values = [claims[each.claim] ?? each.values[0]];
  }
  for (const { kind, metadata } of manifests) if (kind === "User") await joinProject(metadata.name);
  await succeed(admin(["apply", "--filename", "-"], manifests.map((each) => stringify(each)).join("---\n")));
}

it("deploys by the workflow of GitHub Actions", async () => {
  await trust(read("examples/clustertrustrule.yaml"), { repository_id: "74" });
  await checkOut("github");
  const github = createServer(async (request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://localhost");
    const value = await issuer.sign(githubClaims({ aud: searchParams.get("audience") }));
    response.end(JSON.stringify({ value, count: 1 }));
  });
  await new Promise<void>((resolve) => github.listen(0, "127.0.0.1", resolve));
  const { port } = github.address() as AddressInfo;
  const [file, temporary] = [join(directory.path, "github-env"), join(directory.path, "runner")];
  await mkdir(temporary);
  await writeFile(file, "");
  const runner = {
    GITHUB_ACTIONS: "true",
    GITHUB_ENV: file,
    RUNNER_TEMP: temporary,
    ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: "runner",
  };
  const { permissions, jobs } = example("github.yml");
  expect(permissions["id-token"]).toBe("write");
  for (const { run } of jobs.deploy.steps) {
    if (run === undefined) continue;
    const left = [...(await readFile(file, "utf8")).matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]);
    // As a runner does where no shell is named.
    await succeed(shell(["bash", "-e", "-c", run], { ...runner, ...jobs.deploy.env, ...Object.fromEntries(left) }));
  }
  github.close();
  expect(await deployed("github")).toBe("github");
});

it("deploys by the pipeline of GitLab, and gives a job of another project no reason", async () => {
  await trust(read("examples/trustrule.yaml"));
  await checkOut("gitlab");
  const { deploy } = example("gitlab.yml");
  expect(deploy.rules).toEqual([{ if: '$CI_COMMIT_REF_PROTECTED == "true"' }]);
  const { aud } = deploy.id_tokens.POSTERN_ID_TOKEN;
  const run = async (project_id: string): Promise<Outcome> => {
    const POSTERN_ID_TOKEN = await issuer.sign(gitlabClaims({ aud, project_id }));
    return await bash(deploy.script.join("\n"), { GITLAB_CI: "true", ...deploy.variables, POSTERN_ID_TOKEN });
  };
  await succeed(run("42"));
  expect(await deployed("gitlab")).toBe("gitlab");
  const { code, stderr } = await run("43");
  expect([code, stderr]).toEqual([1, expect.stringContaining("issued no access key")]);
  expect(stderr).not.toContain("project_id");
});

it("deploys by the pipeline of Buildkite", async () => {
  await trust(blocks("Buildkite", "yaml")[0] ?? "");
  await checkOut("buildkite");
  const { env, steps } = example("buildkite.yml");
  const file = join(directory.path, "token");
  await writeFile(file, await issuer.sign(buildkiteClaims({ aud: server.url })));
  const asked = `oidc request-token --audience ${server.url} --claim organization_id,pipeline_id`;
  await program("buildkite-agent", `[ "$*" = "${asked}" ] && cat ${file}`);
  // The agent replaces variables before the shell sees them, and leaves one dollar of two.
  const command = steps[0].command.replaceAll("$$", () => "$");
  await succeed(shell(["bash", "-e", "-c", command], { BUILDKITE: "true", ...env }));
  expect(await deployed("buildkite")).toBe("buildkite");
});

it("works in a virtual cluster by the Job of a cluster, with the token of a real ServiceAccount", async () => {
  const [account] = parseAllDocuments(read("examples/ci/kubernetes.yaml"));
  await succeed(inside(["apply", "--filename", "-"], stringify(account?.toJS())));
  // From 1.34 on, kubectl puts the path of the server before raw paths.
  for (const release of KUBERNETES_RELEASES) {
    await program("kubectl", `exec ${(await kubernetesTools(release)).kubectl} "$@"`);
    await asAdministrator(blocks("Kubernetes", "sh")[0] ?? "");
  }
  await rm(join(directory.path, "bin/kubectl"));
  const { spec } = example("kubernetes.yaml").spec.template;
  const [{ env, command, args, volumeMounts }] = spec.containers;
  const [{ serviceAccountToken: projected }] = spec.volumes[0].projected.sources;
  expect(`${volumeMounts[0].mountPath}/${projected.path}`).toBe("/var/run/secrets/postern/token");
  const { audience, expirationSeconds } = projected;
  const asked = ["--audience", audience, "--duration", `${expirationSeconds}s`];
  const file = join(directory.path, "token");
  await writeFile(file, await succeed(inside(["create", "token", spec.serviceAccountName, ...asked])));
  const variables = Object.fromEntries(env.map(({ name, value }: Variables) => [name, value]));
  const script = args[0].replaceAll("/tmp/", `${directory.path}/`);
  // The command looks there by itself; here no kubelet mounts the token.
  const printed = await succeed(shell([...command, script], { ...variables, POSTERN_ID_TOKEN_FILE: file }));
  expect(printed).toContain("kube-root-ca.crt");
  // The kubeconfig of a program that runs on, as the guide has it.
  const kubeconfig = join(directory.path, "running.kubeconfig");
  await writeFile(kubeconfig, blocks("Programs that run for longer", "yaml")[0] ?? "");
  const trusting = ["--kubeconfig", kubeconfig, "--certificate-authority", server.caFile];
  const seen = await succeed(
    shell(["kubectl", ...trusting, "get", "configmaps", "--output", "name"], { POSTERN_ID_TOKEN_FILE: file }),
  );
  expect(seen).toContain("configmap/kube-root-ca.crt");
});
