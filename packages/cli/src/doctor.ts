// `postern doctor`: checks an installation, and suggests how to fix what it finds.

import type { Finding } from "@postern/platform/operations/doctor/examine";
import { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { describeFailure } from "./failure.ts";
import { type OutputFlags, withOutputOption, writeAs } from "./output/output-option.ts";
import { withConfigurationFlags } from "./serve/configuration-flags.ts";
import { UsageError } from "./usage-error.ts";

const MARKS: { readonly [status in Finding["status"]]: string } = {
  ok: "ok     ",
  warning: "WARNING",
  error: "ERROR  ",
  skipped: "-      ",
};

export async function createDoctorCommand(context: CommandContext): Promise<Command> {
  const command = withOutputOption(
    new Command("doctor")
      .summary("check an installation")
      .description(
        "check an installation without changing it, with the same options as `serve`, and say what to do. Fails if there is an error",
      ),
  );
  const flags = await withConfigurationFlags(command, context, () => true, "YAML file with the options of the server");
  return command.action(async (output: OutputFlags) => {
    const findings = await examined(flags);
    const isForPrograms = writeAs(output, { findings: findings.map((finding) => ({ ...finding })) }, context);
    if (!isForPrograms) for (const finding of findings) context.stdout.write(lineOf(finding));
    const errors = findings.filter(({ status }) => status === "error").length;
    if (errors > 0) throw new UsageError(errors === 1 ? "1 error was found" : `${errors} errors were found`);
  });
}

async function examined(flags: Awaited<ReturnType<typeof withConfigurationFlags>>): Promise<readonly Finding[]> {
  const { ConfigurationError } = await import("@postern/platform/foundation/config/configuration-error");
  try {
    const configuration = await flags.load(flags.given());
    const { examine } = await import("@postern/platform/operations/doctor/examine");
    return await examine(configuration, Date.now());
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return [{ check: "options", status: "error", message: describeFailure(error), remedy: "correct the option" }];
  }
}

function lineOf({ check, status, message, remedy }: Finding): string {
  const text = `${MARKS[status]} ${check}: ${message}\n`;
  return remedy === undefined ? text : `${text}        → ${remedy}\n`;
}
