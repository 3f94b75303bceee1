// Finds the help that `postern help <command…>` and `postern <command> help <command…>` ask for, at any depth.

import type { Command } from "commander";
import { visibleCommands } from "../completion/command-tree.ts";

/** Undefined if no help is requested; `fault` if the command does not exist. */
export function findHelp(
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
export function knownCommands(command: Command): string {
  const names = visibleCommands(command)
    .map((subcommand) => subcommand.name())
    .join(", ");
  return names === "" ? `${fullName(command)} has none` : `the commands of ${fullName(command)} are ${names}`;
}

export const fullName = (command: Command): string =>
  command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;

function descend(command: Command, names: readonly string[]): { readonly command: Command; readonly unknown?: string } {
  const [name, ...rest] = names;
  if (name === undefined) return { command };
  const next = command.commands.find((subcommand) => subcommand.name() === name);
  return next === undefined ? { command, unknown: name } : descend(next, rest);
}
