// The completion script for bash.

import { allDescriptions, type CommandDescription, candidateWords } from "./command-tree.ts";

export function renderBashCompletion(program: CommandDescription): string {
  const commands = allDescriptions(program);
  const nested = commands
    .filter(({ path }) => path.length > 1)
    .map(({ path }) => `      "${path.join(" ")}") command="$command $word" ;;`);
  const values = commands.flatMap(({ path, flags }) =>
    flags
      .filter(({ value }) => value !== "none")
      .map(({ long, value, choices }) => {
        const reply =
          value === "choices"
            ? `COMPREPLY=($(compgen -W "${choices.join(" ")}" -- "$current"))`
            : value === "file"
              ? `COMPREPLY=($(compgen -f -- "$current"))`
              : "COMPREPLY=()";
        return `    "${path.join(" ")} --${long}") ${reply}; return ;;`;
      }),
  );
  const words = commands.map(
    (command) => `    "${command.path.join(" ")}") words="${candidateWords(command).join(" ")}" ;;`,
  );
  return `# bash completion for postern
_postern() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="postern" word words=""
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command $word" in
${nested.join("\n")}
    esac
  done
  case "$command $previous" in
${values.join("\n")}
  esac
  case "$command" in
${words.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _postern postern
`;
}
