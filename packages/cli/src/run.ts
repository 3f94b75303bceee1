// Runs a command line and turns whatever goes wrong into one line and an exit code.

import { type Command, CommanderError } from "commander";
import type { CommandContext } from "./command-context.ts";
import { describeFailure } from "./failure.ts";
import { findHelp, knownCommands } from "./find-help.ts";

const FAILED = 1;
const USED_WRONGLY = 2;

/** Resolves with the exit code. */
export async function run(program: Command, args: readonly string[], context: CommandContext): Promise<number> {
  for (const command of allCommands(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
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
    // Commander has written its message already; help is no failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USED_WRONGLY;
    context.stderr.write(`postern: ${describeFailure(error)}\n`);
    if (context.environment["DEBUG"] !== undefined && error instanceof Error) context.stderr.write(`${error.stack}\n`);
    return FAILED;
  }
}

const allCommands = (command: Command): readonly Command[] => [command, ...command.commands.flatMap(allCommands)];

/** Commander puts what it suggests on a line of its own, and is silent where it knows nothing similar. */
function onOneLine(text: string, command: Command): string {
  const line = text
    .replace(/^error: /, "")
    .trim()
    .replaceAll("\n", " ");
  return /^unknown command '[^']*'$/.test(line) ? `${line}: ${knownCommands(command)}` : line;
}
