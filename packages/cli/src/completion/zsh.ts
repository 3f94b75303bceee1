// The completion script for zsh.

import {
  allDescriptions,
  type CommandDescription,
  commandBranches,
  type FlagDescription,
  namesBranches,
  subcommandBranches,
  valueBranches,
} from "./command-tree.ts";

export function renderZshCompletion(program: CommandDescription): string {
  const commands = allDescriptions(program);
  return `#compdef postern
_postern() {
  local command="postern" word
  local -a candidates
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
${subcommandBranches(commands)}
    esac
  done
  case "$command \${words[CURRENT-1]}" in
${valueBranches(commands, offerValue)}
  esac
  case "$command" in
${commandBranches(commands, (command) => `candidates=(${describedWords(command).join(" ")})`)}
  esac
  case "$command" in
${namesBranches(commands, (names) => `compadd -- \${(f)"$(postern complete-names ${names} 2>/dev/null)"}`)}
  esac
  _describe postern candidates
}
compdef _postern postern
`;
}

function offerValue({ value, choices, names }: FlagDescription): string {
  if (names !== undefined) return `compadd -- \${(f)"$(postern complete-names ${names} 2>/dev/null)"}`;
  if (value === "choices") return `compadd -- ${choices.join(" ")}`;
  return value === "file" ? "_files" : "_message value";
}

const describedWords = ({ subcommands, choices, flags }: CommandDescription): readonly string[] => [
  ...subcommands.map(({ path, description }) => describe(path.at(-1) ?? "", description)),
  ...choices.map((choice) => describe(choice, "")),
  ...flags.map(({ long, description }) => describe(`--${long}`, description)),
];

/** `'word:description'`; a colon in the word would end it. */
const describe = (word: string, description: string): string =>
  `'${`${word.replaceAll(":", "\\:")}:${description}`.replaceAll("'", "'\\''")}'`;
