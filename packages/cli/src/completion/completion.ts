// `postern completion`: prints a script that completes commands and flags in a shell.

import { Argument, Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { commandBranches, namesBranches, subcommandBranches, valueBranches } from "./case-branches.ts";
import {
  allDescriptions,
  type CommandDescription,
  candidateWords,
  describeCommands,
  type FlagDescription,
  type NameKind,
  PLATFORM_FLAG_PATTERN,
  PLATFORM_FLAGS,
  PLATFORM_VALUE_PATTERN,
} from "./command-tree.ts";
import { renderZshCompletion } from "./zsh.ts";

const SHELLS = { bash: renderBashCompletion, zsh: renderZshCompletion, fish: renderFishCompletion };
type Shell = keyof typeof SHELLS;

/** `program`: the complete command tree when the command runs. */
export function createCompletionCommand({ stdout }: CommandContext, program: Command): Command {
  return new Command("completion")
    .description("print a completion script for a shell; it completes names of the platform, too")
    .addArgument(new Argument("<shell>", "shell").choices(Object.keys(SHELLS)))
    .action((shell: Shell) => {
      stdout.write(SHELLS[shell](describeCommands(program)));
    });
}

function renderBashCompletion(program: CommandDescription): string {
  const commands = allDescriptions(program);
  return `# bash completion for postern
_postern() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="postern" word words="" last=""
  local -a platform=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command $word" in
${subcommandBranches(commands)}
    esac
    # Bash makes three words of --server=name.
    [ "$word" = "=" ] && continue
    case "$last" in
      ${PLATFORM_FLAG_PATTERN}) platform+=("$last=\${word/#\\~\\//$HOME/}") ;;
    esac
    case "$word" in
      ${PLATFORM_VALUE_PATTERN}) platform+=("$word") ;;
    esac
    last="$word"
  done
  case "$command $previous" in
${valueBranches(commands, offerValue)}
  esac
  case "$command" in
${commandBranches(commands, (command) => `words="${candidateWords(command).join(" ")}"`)}
  esac
  case "$current" in
    -*) ;;
    *)
      case "$command" in
${namesBranches(commands, (names) => `words="${namesInBash(names)}"`)}
      esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _postern postern
`;
}

/** Bash 3.2 takes an empty list for an unset variable. */
const namesInBash = (names: NameKind): string =>
  `$(postern complete-names ${names} \${platform[@]+"\${platform[@]}"} 2>/dev/null)`;

function offerValue({ value, choices, names }: FlagDescription): string {
  if (names !== undefined) return `COMPREPLY=($(compgen -W "${namesInBash(names)}" -- "$current"))`;
  if (value === "choices") return `COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$current"))`;
  return value === "file" ? `COMPREPLY=($(compgen -f -- "$current"))` : "COMPREPLY=()";
}

function renderFishCompletion(program: CommandDescription): string {
  const lines = allDescriptions(program).flatMap((command) => {
    const within = condition(command);
    return [
      ...command.subcommands.map(
        ({ path, description }) => `complete -c postern -n ${quote(within)} -a ${path.at(-1)} -d ${quote(description)}`,
      ),
      ...(command.choices.length === 0
        ? []
        : [`complete -c postern -n ${quote(within)} -a ${quote(command.choices.join(" "))}`]),
      ...(command.names === undefined
        ? []
        : [`complete -c postern -n ${quote(within)} -a '${namesInFish(command.names)}'`]),
      ...command.flags.map(
        (flag) =>
          `complete -c postern -n ${quote(within)} -l ${flag.long}${valueOptions(flag)} -d ${quote(flag.description)}`,
      ),
    ];
  });
  return `# fish completion for postern
function __postern_platform
  set -l last ""
  for word in (commandline -opc)
    contains -- $last ${PLATFORM_FLAGS.join(" ")}; and echo "$last="(string replace -r '^~/' "$HOME/" -- $word)
    string match -r '^(?:${PLATFORM_FLAG_PATTERN})=.*' -- $word
    set last $word
  end
end
complete -c postern -f
${lines.join("\n")}
`;
}

const namesInFish = (names: NameKind): string => `(postern complete-names ${names} (__postern_platform) 2>/dev/null)`;

/** True on the command itself: its words are set, those of its subcommands are not. */
function condition({ path, subcommands }: CommandDescription): string {
  const seen = path.slice(1).map((word) => `__fish_seen_subcommand_from ${word}`);
  const below = subcommands.map((subcommand) => subcommand.path.at(-1)).join(" ");
  const conditions = [...seen, ...(below === "" ? [] : [`not __fish_seen_subcommand_from ${below}`])];
  return conditions.join("; and ");
}

function valueOptions({ value, choices, names }: FlagDescription): string {
  if (value === "none") return "";
  if (names !== undefined) return ` -x -a '${namesInFish(names)}'`;
  if (value === "choices") return ` -x -a ${quote(choices.join(" "))}`;
  return value === "file" ? " -r -F" : " -x";
}

const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
