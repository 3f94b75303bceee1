// The branches of `case` that the scripts for bash and zsh share: both walk along the words to the command that they have reached.

import type { CommandDescription, FlagDescription } from "./command-tree.ts";

/** Words that lead from a command to one below it. */
export const subcommandBranches = (commands: readonly CommandDescription[]): string =>
  commands
    .filter(({ path }) => path.length > 1)
    .map(({ path }) => `      "${path.join(" ")}") command="$command $word" ;;`)
    .join("\n");

/** Flags that a value follows, and what the shell does to offer that value. */
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

/** What is set for each command, so that the script can offer it there. */
export const commandBranches = (
  commands: readonly CommandDescription[],
  assign: (command: CommandDescription) => string,
): string => commands.map((command) => `    "${command.path.join(" ")}") ${assign(command)} ;;`).join("\n");
