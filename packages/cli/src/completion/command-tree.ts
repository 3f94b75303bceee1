// The commands for completion scripts, read from the program itself.

import type { Command } from "commander";

export type FlagDescription = {
  /** Without dashes. */
  readonly long: string;
  readonly description: string;
  /** `choices` for few known values, `file` for paths, `text` for any text, `none` for switches. */
  readonly value: "none" | "text" | "file" | "choices";
  readonly choices: readonly string[];
  /** Names that `postern complete-names` prints. */
  readonly names?: NameKind;
};

export type CommandDescription = {
  /** From the program down: `["postern", "key", "create"]`. */
  readonly path: readonly string[];
  readonly description: string;
  readonly flags: readonly FlagDescription[];
  readonly subcommands: readonly CommandDescription[];
  /** Known values of its first argument. */
  readonly choices: readonly string[];
  /** Names for its arguments, as above. */
  readonly names?: NameKind;
};

/** The kinds of names that the platform, the logins and the kubeconfig have. */
export const NAME_KINDS = [
  "keys",
  "virtual-clusters",
  "spaces",
  "clusters",
  "projects",
  "generators",
  "contexts",
  "logins",
] as const;
export type NameKind = (typeof NAME_KINDS)[number];

const NAMES_OF_FLAGS: { readonly [flag: string]: NameKind } = {
  project: "projects",
  "virtual-cluster": "virtual-clusters",
  space: "spaces",
  cluster: "clusters",
  context: "contexts",
  server: "logins",
  key: "keys",
};

const NAMES_OF_ARGUMENTS: { readonly [command: string]: NameKind } = {
  ...Object.fromEntries(
    ["get", "explain", "rotate", "compromised", "disable", "enable", "revoke"].map((verb) => [
      `postern key ${verb}`,
      "keys",
    ]),
  ),
  "postern kubeconfig": "virtual-clusters",
  "postern login": "logins",
  "postern generator get": "generators",
  "postern generator delete": "generators",
};

export function describeCommands(command: Command, parents: readonly string[] = []): CommandDescription {
  const path = [...parents, command.name()];
  const names = NAMES_OF_ARGUMENTS[path.join(" ")];
  return {
    path,
    description: command.description(),
    flags: command.options.flatMap((option) => {
      if (option.long === null || option.long === undefined) return [];
      const placeholder = /^[^<[]*[<[](.*)[\]>]/.exec(option.flags)?.[1];
      const long = option.long.slice(2);
      // In a search of the audit log, this is a virtual cluster.
      const isSearch = path.join(" ") === "postern audit search" && long === "cluster";
      const names = isSearch ? "virtual-clusters" : NAMES_OF_FLAGS[long];
      const choices = option.argChoices ?? (placeholder?.includes("|") ? placeholder.split("|") : []);
      return [
        {
          long,
          description: option.description.split(/[;(]/)[0]?.trim() ?? "",
          value: valueKind(placeholder, choices),
          choices,
          ...(names === undefined ? {} : { names }),
        },
      ];
    }),
    subcommands: visibleCommands(command).map((subcommand) => describeCommands(subcommand, path)),
    choices: command.registeredArguments[0]?.argChoices ?? [],
    ...(names === undefined ? {} : { names }),
  };
}

/** Without deprecated aliases, and without `help`. */
export const visibleCommands = (command: Command): readonly Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((subcommand) => command.commands.includes(subcommand));

function valueKind(placeholder: string | undefined, choices: readonly string[]): FlagDescription["value"] {
  if (placeholder === undefined) return "none";
  if (choices.length > 0) return "choices";
  return placeholder === "file" || placeholder === "directory" ? "file" : "text";
}

/** The command and all commands below it. */
export const allDescriptions = (command: CommandDescription): readonly CommandDescription[] => [
  command,
  ...command.subcommands.flatMap(allDescriptions),
];

/** The words that may follow a command: its subcommands, values of its argument, and flags. */
export const candidateWords = ({ subcommands, choices, flags }: CommandDescription): readonly string[] => [
  ...subcommands.map(({ path }) => path.at(-1) ?? ""),
  ...choices,
  ...flags.map(({ long }) => `--${long}`),
];

/** Flags that name the platform: a script hands those that were typed to `postern complete-names`. */
export const PLATFORM_FLAGS: readonly string[] = ["--server", "--kubeconfig", "--context"];

/** Both ways to write them, as patterns of a `case`. */
export const PLATFORM_FLAG_PATTERN = PLATFORM_FLAGS.join("|");
export const PLATFORM_VALUE_PATTERN = PLATFORM_FLAGS.map((flag) => `${flag}=*`).join("|");
