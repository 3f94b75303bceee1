// The completion script for zsh.

import { commandBranches, namesBranches, subcommandBranches, valueBranches } from "./case-branches.ts";
import {
  allDescriptions,
  type CommandDescription,
  type FlagDescription,
  type NameKind,
  PLATFORM_FLAG_PATTERN,
  PLATFORM_VALUE_PATTERN,
} from "./command-tree.ts";

export function renderZshCompletion(program: CommandDescription): string {
  const commands = allDescriptions(program);
  return `#compdef postern
_postern() {
  local command="postern" word last=""
  local -a candidates platform
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
${subcommandBranches(commands)}
    esac
    word="\${\${(Q)word}/#\\~\\//$HOME/}"
    case "$last" in
      ${PLATFORM_FLAG_PATTERN}) platform+=("$last=$word") ;;
    esac
    case "$word" in
      ${PLATFORM_VALUE_PATTERN}) platform+=("$word") ;;
    esac
    last="$word"
  done
  case "$command \${words[CURRENT-1]}" in
${valueBranches(commands, offerValue)}
  esac
  case "$command" in
${commandBranches(commands, (command) => `candidates=(${describedWords(command).join(" ")})`)}
  esac
  case "$command" in
${namesBranches(commands, namesInZsh)}
  esac
  _describe postern candidates
}
compdef _postern postern
`;
}

const namesInZsh = (names: NameKind): string =>
  `compadd -- \${(f)"$(postern complete-names ${names} $platform 2>/dev/null)"}`;

function offerValue({ value, choices, names }: FlagDescription): string {
  if (names !== undefined) return namesInZsh(names);
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
