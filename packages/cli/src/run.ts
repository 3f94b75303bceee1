// Runs a command line and turns whatever goes wrong into one line and an exit code.

import { type Command, CommanderError } from "commander";
import type { CommandContext } from "./command-context.ts";
import { describeFailure } from "./failure.ts";

const FAILED = 1;
const USED_WRONGLY = 2;

/** Resolves with the exit code. */
export async function run(program: Command, args: readonly string[], context: CommandContext): Promise<number> {
  for (const command of allCommands(program)) {
    command.exitOverride().configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => context.stderr.write(text),
      // Commander puts what it suggests on a line of its own.
      outputError: (text, write) =>
        write(
          `postern: ${text
            .replace(/^error: /, "")
            .trim()
            .replaceAll("\n", " ")}\n`,
        ),
    });
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
