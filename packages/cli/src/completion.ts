// `postern completion`: prints a script that completes commands and flags in a shell.

import { Argument, Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { renderBashCompletion } from "./completion/bash.ts";
import { describeCommands } from "./completion/command-tree.ts";
import { renderFishCompletion } from "./completion/fish.ts";
import { renderZshCompletion } from "./completion/zsh.ts";

const SHELLS = { bash: renderBashCompletion, zsh: renderZshCompletion, fish: renderFishCompletion };
type Shell = keyof typeof SHELLS;

const HOW_TO = `
Load it in the running shell, or from its start file:
  bash:  source <(postern completion bash)
  zsh:   source <(postern completion zsh)
  fish:  postern completion fish | source`;

/** `program` is the finished tree at the time the command runs. */
export function createCompletionCommand({ stdout }: CommandContext, program: Command): Command {
  return new Command("completion")
    .description("print a completion script for a shell")
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SHELLS)))
    .addHelpText("after", HOW_TO)
    .action((shell: Shell) => {
      stdout.write(SHELLS[shell](describeCommands(program)));
    });
}
