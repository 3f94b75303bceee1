// How a job uses a trust rule, ready to be copied: for GitHub Actions, for GitLab, for other systems whose tokens the command finds, and for any program that has a token.

import type { TrustRule } from "@postern/api/trust-rule";
import { stringify } from "yaml";
import { nameOf } from "../../api/resources.ts";
import { quoted } from "../../format/shell.ts";
import { choiceOf } from "./issuer-choices.ts";

export const SYSTEMS = ["github", "gitlab", "shell", "curl"] as const;
export type System = (typeof SYSTEMS)[number];

/** The one whose tokens the rule accepts. */
export function systemOf({ spec }: TrustRule): System {
  const choice = choiceOf(spec.issuer);
  if (choice === "circleci" || choice === "bitbucket" || choice === "terraform") return "shell";
  return SYSTEMS.find((system) => system === choice) ?? "curl";
}

export type Snippet = { readonly fileName: string; readonly text: string };

type Given = {
  readonly rule: TrustRule;
  /** Undefined for a rule of the whole platform. */
  readonly project: string | undefined;
  /** The address of this server. */
  readonly origin: string;
  /** Whether the server has a CA of its own, which jobs need in `POSTERN_CA`. */
  readonly hasAuthority: boolean;
};

/** A virtual cluster that the rule names; else names to replace. */
function clusterOf({ rule, project }: Given): { readonly project: string; readonly name: string } {
  const named = (rule.spec.scope?.virtualClusters ?? []).find(
    ({ virtualCluster = "*", selector }) => virtualCluster !== "*" && selector === undefined,
  );
  const place = rule.spec.scope?.projects?.find((each) => each.project !== "*")?.project;
  return {
    project: named?.project ?? place ?? project ?? "PROJECT",
    name: named?.virtualCluster ?? "VIRTUAL-CLUSTER",
  };
}

export function snippetFor(system: System, given: Given): Snippet {
  const { rule, project, origin, hasAuthority } = given;
  const [audience = origin] = rule.spec.audiences;
  const cluster = clusterOf(given);
  const login = [
    "postern ci login",
    ...(project === undefined ? [] : [`--project ${project}`]),
    `--rule ${nameOf(rule)}`,
    // It asks for a token for this server otherwise.
    ...(system === "github" && audience !== origin ? [`--audience ${quoted(audience)}`] : []),
  ].join(" ");
  const kubeconfig = `postern kubeconfig ${cluster.name} --project ${cluster.project}`;
  if (system === "github") {
    const job = {
      "runs-on": "ubuntu-latest",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: an expression of GitHub Actions
      env: { POSTERN_URL: origin, ...(hasAuthority ? { POSTERN_CA: "${{ vars.POSTERN_CA }}" } : {}) },
      steps: [
        { uses: "actions/checkout@v4" },
        { run: "npm install --global postern" },
        { run: login },
        { run: `${kubeconfig} > "$RUNNER_TEMP/kubeconfig"` },
        { run: `kubectl --kubeconfig "$RUNNER_TEMP/kubeconfig" apply -f deploy/` },
      ],
    };
    const workflow = {
      name: "deploy",
      on: { push: { branches: ["main"] } },
      permissions: { contents: "read", "id-token": "write" },
      jobs: { deploy: job },
    };
    return { fileName: ".github/workflows/deploy.yml", text: stringify(workflow, { lineWidth: 0 }) };
  }
  if (system === "gitlab") {
    const deploy = {
      variables: { POSTERN_URL: origin },
      id_tokens: { POSTERN_ID_TOKEN: { aud: audience } },
      script: [`eval "$(${login})"`, `${kubeconfig} > kubeconfig`, "kubectl --kubeconfig kubeconfig apply -f deploy/"],
    };
    return { fileName: ".gitlab-ci.yml", text: stringify({ deploy }, { lineWidth: 0 }) };
  }
  if (system === "shell") {
    const commands = [
      `export POSTERN_URL=${quoted(origin)}${hasAuthority ? " POSTERN_CA=ca.crt" : ""}`,
      `eval "$(${login})"`,
      `${kubeconfig} > kubeconfig`,
      "kubectl --kubeconfig kubeconfig apply -f deploy/",
    ];
    return { fileName: "deploy.sh", text: `${commands.join("\n")}\n` };
  }
  const exchange = [
    `curl --fail-with-body ${hasAuthority ? "--cacert ca.crt " : ""}${quoted(`${origin}/oauth/token`)}`,
    "--data-urlencode grant_type=urn:ietf:params:oauth:grant-type:token-exchange",
    "--data-urlencode subject_token_type=urn:ietf:params:oauth:token-type:jwt",
    '--data-urlencode subject_token="$TOKEN"',
    `--data-urlencode audience=${project === undefined ? "" : `${project}/`}${nameOf(rule)}`,
  ].join(" \\\n  ");
  return { fileName: "login.sh", text: `# TOKEN is a token with the audience ${audience}\n${exchange}\n` };
}
