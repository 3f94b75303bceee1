// Runs a command line, and converts errors into one line and an exit code. `help` is found at any depth.

import { type Command, CommanderError } from "commander";
import type { CommandContext } from "./command-context.ts";
import { visibleCommands } from "./completion/command-tree.ts";
import { describeFailure, PlatformFailure } from "./failure.ts";

const FAILED = 1;
const USED_WRONGLY = 2;

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
  return /^unknown command '[^']*'$/.test(line) ? `${line}: ${knownCommands(command)}` : line;
}

// `postern help <command…>` and `postern <command> help <command…>`: finds the requested help at any depth.

/** Undefined if no help is requested; `fault` if the command does not exist. */
function findHelp(
  program: Command,
  args: readonly string[],
): { readonly command: Command } | { readonly fault: string } | undefined {
  const at = args.indexOf("help");
  if (at < 0 || args.some((arg) => arg.startsWith("-"))) return undefined;
  const asked = descend(program, args.slice(0, at));
  // For a command without subcommands, "help" is an argument.
  if (asked.unknown !== undefined || asked.command.commands.length === 0) return undefined;
  const { command, unknown } = descend(asked.command, args.slice(at + 1));
  return unknown === undefined ? { command } : { fault: `unknown command '${unknown}': ${knownCommands(command)}` };
}

/** The end of a message that refuses a command below `command`. */
function knownCommands(command: Command): string {
  const names = visibleCommands(command)
    .map((subcommand) => subcommand.name())
    .join(", ");
  return names === "" ? `${fullName(command)} has none` : `the commands of ${fullName(command)} are ${names}`;
}

const fullName = (command: Command): string =>
  command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;

function descend(command: Command, names: readonly string[]): { readonly command: Command; readonly unknown?: string } {
  const [name, ...rest] = names;
  if (name === undefined) return { command };
  const next = command.commands.find((subcommand) => subcommand.name() === name);
  return next === undefined ? { command, unknown: name } : descend(next, rest);
}
