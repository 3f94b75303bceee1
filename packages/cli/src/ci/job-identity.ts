// Finds the identity token of a CI job: of GitHub, GitLab, Buildkite, Kubernetes, and systems that set a variable of their own.

import { readFile } from "node:fs/promises";
import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { createNodeTransport } from "@postern/client/transport/node";
import type { TransportResponse } from "@postern/client/transport/transport";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";

export type IdentityFlags = { readonly tokenFile?: string; readonly tokenVariable?: string };

export type JobIdentity = {
  readonly token: string;
  /** Where it was found, for messages. */
  readonly from: string;
};

/** The variable for the token in GitLab's `id_tokens` and in Buildkite steps. */
export const TOKEN_VARIABLE = "POSTERN_ID_TOKEN";
/** The variable with the path of a file that has the token, and that may be replaced at any time. */
export const TOKEN_FILE_VARIABLE = "POSTERN_ID_TOKEN_FILE";
/** Variables that systems set by themselves: CircleCI, Bitbucket Pipelines and HCP Terraform. */
const VARIABLES_OF_SYSTEMS = ["CIRCLE_OIDC_TOKEN_V2", "BITBUCKET_STEP_OIDC_TOKEN", "TFC_WORKLOAD_IDENTITY_TOKEN"];
/** The path of the projected volume in Kubernetes. */
const TOKEN_FILE = "/var/run/secrets/postern/token";
const MAX_ANSWER_BYTES = 64 * 1024;

/** Throws UsageError, which says what the job lacks. `audience`: requested from GitHub. */
export async function findJobIdentity(
  { tokenFile, tokenVariable }: IdentityFlags,
  audience: string,
  { environment, readSecret }: Pick<CommandContext, "environment" | "readSecret">,
): Promise<JobIdentity> {
  if (tokenFile === "-") {
    const token = await readSecret("Token: ");
    if (token === undefined) throw new UsageError("there is no token in standard input");
    return { token, from: "standard input" };
  }
  if (tokenFile !== undefined) return await readToken(tokenFile);
  const variable = tokenVariable ?? TOKEN_VARIABLE;
  const inVariable = (environment[variable] ?? "").trim();
  if (inVariable !== "") return { token: inVariable, from: `the variable ${variable}` };
  if (tokenVariable !== undefined) throw new UsageError(`the variable ${tokenVariable} is empty`);
  const { ACTIONS_ID_TOKEN_REQUEST_URL: url = "", ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer = "" } = environment;
  if (url !== "" && bearer !== "")
    return { token: await askGitHub(url, bearer, audience, environment), from: "GitHub Actions" };
  const file = environment[TOKEN_FILE_VARIABLE] ?? "";
  if (file !== "") return await readToken(file);
  for (const name of VARIABLES_OF_SYSTEMS) {
    const token = (environment[name] ?? "").trim();
    if (token !== "") return { token, from: `the variable ${name}` };
  }
  const projected = await readToken(TOKEN_FILE).catch(() => undefined);
  if (projected !== undefined) return projected;
  throw new UsageError(`cannot find the identity of a CI job or pod: ${adviceFor(environment, audience)}`);
}

async function readToken(path: string): Promise<JobIdentity> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read the token in ${path} (${error.code})`);
  });
  if (text.trim() === "") throw new UsageError(`there is no token in ${path}`);
  return { token: text.trim(), from: path };
}

function adviceFor(environment: CommandContext["environment"], audience: string): string {
  if (environment["GITHUB_ACTIONS"] === "true") return "the job needs `permissions: id-token: write`";
  if (environment["GITLAB_CI"] === "true") return `the job needs \`id_tokens: ${TOKEN_VARIABLE}: aud: ${audience}\``;
  if (environment["BUILDKITE"] === "true")
    return `set ${TOKEN_VARIABLE} to what \`buildkite-agent oidc request-token --audience ${audience}\` prints`;
  if ((environment["KUBERNETES_SERVICE_HOST"] ?? "") !== "")
    return `mount a projected ServiceAccount token with the audience ${audience} at ${TOKEN_FILE}`;
  return `set ${TOKEN_VARIABLE} to the token, or ${TOKEN_FILE_VARIABLE} to a file with it; there is none in ${TOKEN_FILE}`;
}

/** Source: docs.github.com/en/actions/reference/security/oidc#methods-for-requesting-the-oidc-token */
async function askGitHub(
  address: string,
  bearer: string,
  audience: string,
  proxyEnvironment: CommandContext["environment"],
): Promise<string> {
  if (!URL.canParse(address)) throw new UsageError("ACTIONS_ID_TOKEN_REQUEST_URL is not a URL");
  const url = new URL(address);
  url.searchParams.set("audience", audience);
  await using transport = createNodeTransport({ server: url.origin, proxyEnvironment });
  const response = await transport.send({
    method: "GET",
    path: `${url.pathname}${url.search}`,
    headers: {
      authorization: `Bearer ${bearer}`,
      accept: "application/json",
      "user-agent": `postern/${BUILD_INFO.version}`,
    },
  });
  const answer = await readAnswer(response);
  const value = isJsonObject(answer) ? answer["value"] : undefined;
  if (response.status !== 200 || typeof value !== "string")
    throw new UsageError(`GitHub issued no token: it responded with code ${response.status}`);
  return value;
}

/** Undefined if the text is not JSON, or too long. */
export async function readAnswer({ body }: TransportResponse): Promise<ReturnType<typeof parseJson> | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return parseJson(Buffer.concat(chunks));
  } catch {
    return undefined;
  }
}
