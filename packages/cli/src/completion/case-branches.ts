// The branches of `case` shared by the scripts for bash and zsh: both follow the words to the current command.

import type { CommandDescription, FlagDescription, NameKind } from "./command-tree.ts";

/** The words that lead from a command to a subcommand. */
export const subcommandBranches = (commands: readonly CommandDescription[]): string =>
  commands
    .filter(({ path }) => path.length > 1)
    .map(({ path }) => `      "${path.join(" ")}") command="$command $word" ;;`)
    .join("\n");

/** Flags with a value, and the shell code that completes the value. */
export const valueBranches = (
  commands: readonly CommandDescription[],
  offer: (flag: FlagDescription) => string,
): string =>
  commands
    .flatMap(({ path, flags }) =>
      flags
        .filter(({ value }) => value !== "none")
        .map((flag) => `    "${path.join(" ")} --${flag.long}") ${offer(flag)}; return ;;`),
    )
    .join("\n");

/** The variables for each command that the script completes from. */
export const commandBranches = (
  commands: readonly CommandDescription[],
  assign: (command: CommandDescription) => string,
): string => commands.map((command) => `    "${command.path.join(" ")}") ${assign(command)} ;;`).join("\n");

/** Commands whose arguments are names, and the shell code that offers them. */
export const namesBranches = (commands: readonly CommandDescription[], offer: (names: NameKind) => string): string =>
  commands
    .flatMap(({ path, names }) => (names === undefined ? [] : [`    "${path.join(" ")}") ${offer(names)} ;;`]))
    .join("\n");
