// The completion script for zsh.

import { allDescriptions, type CommandDescription } from "./command-tree.ts";

export function renderZshCompletion(program: CommandDescription): string {
  const commands = allDescriptions(program);
  const nested = commands
    .filter(({ path }) => path.length > 1)
    .map(({ path }) => `      "${path.join(" ")}") command="$command $word" ;;`);
  const values = commands.flatMap(({ path, flags }) =>
    flags
      .filter(({ value }) => value !== "none")
      .map(({ long, value, choices }) => {
        const reply =
          value === "choices" ? `compadd -- ${choices.join(" ")}` : value === "file" ? "_files" : "_message value";
        return `    "${path.join(" ")} --${long}") ${reply}; return ;;`;
      }),
  );
  const candidates = commands.map((command) => {
    const described = [
      ...command.subcommands.map(({ path, description }) => describe(path.at(-1) ?? "", description)),
      ...command.choices.map((choice) => describe(choice, "")),
      ...command.flags.map(({ long, description }) => describe(`--${long}`, description)),
    ];
    return `    "${command.path.join(" ")}") candidates=(${described.join(" ")}) ;;`;
  });
  return `#compdef postern
_postern() {
  local command="postern" word
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
${nested.join("\n")}
    esac
  done
  case "$command \${words[CURRENT-1]}" in
${values.join("\n")}
  esac
  case "$command" in
${candidates.join("\n")}
  esac
  _describe postern candidates
}
compdef _postern postern
`;
}

/** `'word:what it is'`; a colon within the word would end it. */
const describe = (word: string, description: string): string =>
  `'${`${word.replaceAll(":", "\\:")}:${description}`.replaceAll("'", "'\\''")}'`;
