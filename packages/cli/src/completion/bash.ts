// The completion script for bash.

import { commandBranches, subcommandBranches, valueBranches } from "./case-branches.ts";
import { allDescriptions, type CommandDescription, candidateWords, type FlagDescription } from "./command-tree.ts";

export function renderBashCompletion(program: CommandDescription): string {
  const commands = allDescriptions(program);
  return `# bash completion for postern
_postern() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="postern" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command $word" in
${subcommandBranches(commands)}
    esac
  done
  case "$command $previous" in
${valueBranches(commands, offerValue)}
  esac
  case "$command" in
${commandBranches(commands, (command) => `words="${candidateWords(command).join(" ")}"`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _postern postern
`;
}

function offerValue({ value, choices }: FlagDescription): string {
  if (value === "choices") return `COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$current"))`;
  return value === "file" ? `COMPREPLY=($(compgen -f -- "$current"))` : "COMPREPLY=()";
}
