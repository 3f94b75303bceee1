// Runs a command line, and converts errors into one line and an exit code. `help` is found at any depth.

import { type Command, CommanderError } from "commander";
import type { CommandContext } from "./command-context.ts";
import { describeFailure, PlatformFailure } from "./failure.ts";
import { findHelp, fullName, knownCommands } from "./help/find-help.ts";

const FAILED = 1;
const USED_WRONGLY = 2;
const MAX_HINTS = 3;

/** Resolves with the exit code. */
export async function run(program: Command, args: readonly string[], context: CommandContext): Promise<number> {
  for (const command of allCommands(program)) {
    command.exitOverride().configureOutput({
      outputError: (text, write) => write(`postern: ${onOneLine(text, command)}\n`),
    });
  }
  const help = findHelp(program, args);
  if (help !== undefined) {
    if ("command" in help) help.command.outputHelp();
    else context.stderr.write(`postern: ${help.fault}\n`);
    return "command" in help ? 0 : USED_WRONGLY;
  }
  try {
    await program.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    // Commander has printed its message already; help is not a failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USED_WRONGLY;
    context.stderr.write(`postern: ${describeFailure(error)}\n`);
    const cause = error instanceof PlatformFailure ? error.cause : error;
    if (context.environment["DEBUG"] !== undefined && cause instanceof Error) context.stderr.write(`${cause.stack}\n`);
    return FAILED;
  }
}

const allCommands = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(allCommands)];

/** Commander prints its suggestion on a separate line, and none without a similar name. */
function onOneLine(text: string, command: Command): string {
  const line = text
    .replace(/^error: /, "")
    .trim()
    .replaceAll("\n", " ");
  if (/^unknown command '[^']*'$/.test(line)) return `${line}: ${knownCommands(command)}`;
  if (/^too many arguments/.test(line)) return `too many arguments: ${fullName(command)} takes ${argumentsOf(command)}`;
  const option = /^unknown option '--([^']+)'$/.exec(line)?.[1];
  if (option === undefined) return line;
  const [name = ""] = option.split("=", 1);
  return `${line}${optionHint(name, command)}`;
}

function argumentsOf(command: Command): string {
  const names = command.registeredArguments.map((argument) => `<${argument.name()}>`);
  return `${names.length === 0 ? "none" : names.join(" ")}, and options: ${fullName(command)} --help lists them`;
}

/** The options with the unknown one as a word of their name, such as --secure-port for --port. */
function optionHint(name: string, command: Command): string {
  const meant = command.options
    .filter(({ long, hidden }) => !hidden && long?.slice(2).split("-").includes(name) === true)
    .map(({ long }) => long);
  if (meant.length > 0 && meant.length <= MAX_HINTS) return ` (Did you mean ${meant.join(" or ")}?)`;
  return `: ${fullName(command)} --help lists the options`;
}
