// The completion script for fish.

import { allDescriptions, type CommandDescription, type FlagDescription } from "./command-tree.ts";

export function renderFishCompletion(program: CommandDescription): string {
  const lines = allDescriptions(program).flatMap((command) => {
    const within = condition(command);
    return [
      ...command.subcommands.map(
        ({ path, description }) => `complete -c postern -n ${quote(within)} -a ${path.at(-1)} -d ${quote(description)}`,
      ),
      ...(command.choices.length === 0
        ? []
        : [`complete -c postern -n ${quote(within)} -a ${quote(command.choices.join(" "))}`]),
      ...command.flags.map(
        (flag) =>
          `complete -c postern -n ${quote(within)} -l ${flag.long}${valueOptions(flag)} -d ${quote(flag.description)}`,
      ),
    ];
  });
  return `# fish completion for postern\ncomplete -c postern -f\n${lines.join("\n")}\n`;
}

/** True on the command itself: its words are there, those of its subcommands are not. */
function condition({ path, subcommands }: CommandDescription): string {
  const seen = path.slice(1).map((word) => `__fish_seen_subcommand_from ${word}`);
  const below = subcommands.map((subcommand) => subcommand.path.at(-1)).join(" ");
  const conditions = [...seen, ...(below === "" ? [] : [`not __fish_seen_subcommand_from ${below}`])];
  return conditions.join("; and ");
}

function valueOptions({ value, choices }: FlagDescription): string {
  if (value === "none") return "";
  if (value === "choices") return ` -x -a ${quote(choices.join(" "))}`;
  return value === "file" ? " -r -F" : " -x";
}

const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
