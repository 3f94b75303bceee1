// `postern ci login`: exchanges the identity token of a CI job for an access key.

import { appendFile, open } from "node:fs/promises";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withNotes } from "../help/help.ts";
import { parseAddress, readAuthority } from "../login/platforms.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { shellQuote } from "../output/shell-quote.ts";
import { UsageError } from "../usage-error.ts";
import { exchangeIdentity } from "./exchange-identity.ts";
import { findJobIdentity, type IdentityFlags } from "./job-identity.ts";

type LoginFlags = IdentityFlags &
  OutputFlags & {
    readonly server?: string;
    readonly ca?: string;
    readonly audience?: string;
    readonly project?: string;
    readonly rule?: string;
    readonly print?: boolean;
    readonly writeEnv?: string;
  };

export function createCiCommand(context: CommandContext): Command {
  const login = withOutputOption(new Command("login"))
    .description("exchange the identity of a CI job for an access key, without a stored secret")
    .option("--server <url>", "address of the platform [env: POSTERN_URL]")
    .option("--ca <file>", "certificate authority of the platform, if it is not publicly trusted [env: POSTERN_CA]")
    .option("--rule <name>", "trust rule to use (default: the only one that accepts the job)")
    .option("--project <name>", "project of the trust rule, instead of the whole platform")
    .option("--audience <text>", "audience of the CI token (default: the address of the platform)")
    .option("--token-file <file>", "file with the job's token; - for standard input (default: detected)")
    .option("--token-variable <name>", "variable with the job's token (default: detected)")
    .addOption(new Option("--print", "print the access key, and nothing else").conflicts(["writeEnv", "output"]))
    .option("--write-env <file>", "write POSTERN_URL and POSTERN_TOKEN to a file for following steps")
    .action((flags: LoginFlags) => logIn(flags, context));
  withNotes(
    login,
    "In GitHub Actions, POSTERN_TOKEN is set for the following steps. Elsewhere, evaluate what the command prints.",
  );
  return new Command("ci").description("access keys for CI jobs").addCommand(login);
}

async function logIn(flags: LoginFlags, context: CommandContext): Promise<void> {
  const { environment, stderr } = context;
  const given = flags.server ?? environment["POSTERN_URL"] ?? "";
  if (given === "") throw new UsageError("name the platform with --server or POSTERN_URL");
  const server = parseAddress(given);
  const authority = flags.ca ?? environment["POSTERN_CA"] ?? "";
  const { token, from } = await findJobIdentity(flags, flags.audience ?? server, context);
  const certificateAuthorityPem = authority === "" ? undefined : await readAuthority(authority);
  const transport = {
    server,
    proxyEnvironment: environment,
    ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }),
  };
  const { key, seconds } = await exchangeIdentity(transport, token, targetOf(flags));
  const variables: readonly Variable[] = [
    ["POSTERN_URL", server],
    ["POSTERN_TOKEN", key],
    // A bundle that is given as text is in the environment already.
    ...(authority === "" || authority.includes("\n") ? [] : ([["POSTERN_CA", authority]] as const)),
  ];
  const written = await handOver(variables, key, flags, context);
  const result = { expiresInSeconds: seconds, identityFrom: from, ...written };
  if (!writeAs(flags, result, context))
    stderr.write(`access key for ${seconds} seconds, for the identity from ${from}\n`);
}

type Variable = readonly [name: string, value: string];

const targetOf = ({ project, rule }: LoginFlags): string | undefined =>
  project === undefined ? rule : `${project}/${rule ?? "*"}`;

/** Resolves with what `-o` prints: the file that has the variables, else the variables. */
async function handOver(
  variables: readonly Variable[],
  key: string,
  { print, writeEnv, output }: LoginFlags,
  { environment, stdout, stderr }: CommandContext,
): Promise<JsonObject> {
  if (print === true) {
    stdout.write(`${key}\n`);
    return {};
  }
  const lines = variables.map(([name, value]) => `${name}=${value}\n`).join("");
  if (writeEnv !== undefined) {
    await writeSecretFile(writeEnv, lines);
    if (output === "text") stderr.write(`wrote ${writeEnv}\n`);
    return { file: writeEnv };
  }
  const file = environment["GITHUB_ENV"] ?? "";
  if (file !== "") {
    // Before anything may print it. The runner reads both streams.
    (output === "text" ? stdout : stderr).write(`::add-mask::${key}\n`);
    await appendFile(file, lines);
    return { file };
  }
  if (output === "text")
    stdout.write(variables.map(([name, value]) => `export ${name}=${shellQuote(value)}\n`).join(""));
  return { variables: Object.fromEntries(variables) };
}

async function writeSecretFile(path: string, text: string): Promise<void> {
  try {
    await using file = await open(path, "w", 0o600);
    // Otherwise an existing file would keep its mode. Before it holds the key.
    await file.chmod(0o600);
    await file.writeFile(text);
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new UsageError(`cannot write ${path} (${String(error.code)})`, { cause: error });
  }
}
