// `postern trust test`: shows which conditions of a trust rule a token meets.

import { createResourceClient } from "@postern/client/resource-client";
import { Command } from "commander";
import { findJobIdentity, type IdentityFlags } from "../ci/job-identity.ts";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "../connection-options.ts";
import { listAt, objectAt } from "../output/json-members.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { printChecks } from "../output/print-table.ts";
import { withNamespacePrefixOption } from "../serve/namespace-prefix-option.ts";
import { UsageError } from "../usage-error.ts";

type TestFlags = ConnectionFlags &
  OutputFlags &
  IdentityFlags & { readonly project?: string; readonly namespacePrefix: string };

export function createTrustCommand(context: CommandContext): Command {
  const test = new Command("test")
    .description("show which conditions of a trust rule a token meets; no key is issued, and the token is not stored")
    .argument("<rule>", "name of the trust rule, or project/rule")
    .option("--project <name>", "project of the rule (default: rules of the whole platform)")
    .option("--token-file <file>", "file with the token; - for standard input, the default")
    .option("--token-variable <name>", "variable with the token")
    .action((rule: string, flags: TestFlags) => testToken(rule, flags, context));
  const command = withConnectionOptions(withNamespacePrefixOption(withOutputOption(test)));
  return new Command("trust").description("trust rules, which issue access keys to CI jobs").addCommand(command);
}

async function testToken(rule: string, flags: TestFlags, context: CommandContext): Promise<void> {
  const { project, name } = placeOf(rule, flags);
  const token = await tokenOf(flags, context);
  const { namespacePrefix } = flags;
  const accepted = await withClient(flags, context, async (client, group) => {
    const address = { group, version: "v1" };
    const rules =
      project === undefined
        ? createResourceClient(client, { ...address, resource: "clustertrustrules" })
        : createResourceClient(client, {
            ...address,
            resource: "trustrules",
            namespace: `${namespacePrefix}${project}`,
          });
    const answer = await rules.createSubresource(name, "test", { kind: "TrustTest", spec: { token } });
    const status = objectAt(answer, "status");
    if (!writeAs(flags, status, context)) context.stdout.write(printChecks(listAt(status, "checks")));
    return status["accepted"] === true;
  });
  if (!accepted) throw new UsageError(`the trust rule ${rule} does not accept the token`);
}

/** Throws UsageError where both name a project. */
function placeOf(
  rule: string,
  { project }: TestFlags,
): { readonly project: string | undefined; readonly name: string } {
  const slash = rule.indexOf("/");
  if (slash === -1) return { project, name: rule };
  if (project !== undefined) throw new UsageError(`name the project once: with --project, or in ${rule}`);
  return { project: rule.slice(0, slash), name: rule.slice(slash + 1) };
}

async function tokenOf(flags: TestFlags, context: CommandContext): Promise<string> {
  if (flags.tokenFile !== undefined || flags.tokenVariable !== undefined)
    return (await findJobIdentity(flags, "", context)).token;
  const token = await context.readSecret("Token: ");
  if (token === undefined) throw new UsageError("no token: pipe it in, or name a file with --token-file");
  return token;
}
