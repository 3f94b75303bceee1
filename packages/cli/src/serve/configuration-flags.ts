// The options of the server as flags, and the resulting configuration.

import type { CatalogueEntry } from "@postern/platform/foundation/config/catalogue";
import type { Configuration } from "@postern/platform/foundation/config/configuration";
import { type Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withNotes } from "../help/help.ts";

export type GivenFlags = ReadonlyMap<string, string | readonly string[]>;

export type ConfigurationFlags = {
  /** The values on the command line, by flag. */
  given(): GivenFlags;
  /** Whether it also names a file with options. */
  namesFile(): boolean;
  /** From flags, environment and file. Throws ConfigurationError. */
  load(flags: GivenFlags): Promise<Configuration>;
};

/** Adds `--config`, and a flag for each entry. */
export async function withConfigurationFlags(
  command: Command,
  { environment, workingDirectory }: CommandContext,
  isWanted: (flag: string) => boolean,
  configDescription: string,
): Promise<ConfigurationFlags> {
  const { CATALOGUE_ENTRIES, CONFIG_ENVIRONMENT_NAME } = await import("@postern/platform/foundation/config/catalogue");
  const entries = CATALOGUE_ENTRIES.filter(({ option }) => isWanted(option.flag));
  command.option("--config <file>", `${configDescription} [env: ${CONFIG_ENVIRONMENT_NAME}]`);
  // The help of one command is enough for a hundred options.
  const isServer = command.name() === "serve";
  if (!isServer)
    withNotes(command, "Takes the options of postern serve as well, as far as they concern it: postern serve --help");
  for (const entry of entries) command.addOption(toFlag(entry).hideHelp(!isServer));
  const configFile = () => command.opts<{ config?: string }>().config;
  return {
    given: () => givenFlags(command, entries),
    namesFile: () => configFile() !== undefined,
    async load(flags) {
      const { loadConfiguration } = await import("@postern/platform/foundation/config/configuration");
      const config = configFile();
      return await loadConfiguration({
        flags,
        environment,
        workingDirectory,
        ...(config === undefined ? {} : { configFile: config }),
      });
    },
  };
}

/** A flag as the help shows it. The catalogue parses values, so that all errors have the same wording. */
function toFlag({ option, environmentName }: CatalogueEntry): Option {
  const value = option.type === "switch" ? " [true|false]" : ` ${option.placeholder}`;
  const help = `${option.description} (default: ${option.defaultText}) [env: ${environmentName}]`;
  const flag = new Option(`--${option.flag}${value}`, help);
  return option.type === "list"
    ? flag.argParser((text: string, before: readonly string[] = []) => [...before, text])
    : flag;
}

function givenFlags(command: Command, entries: readonly CatalogueEntry[]): GivenFlags {
  const given = new Map<string, string | readonly string[]>();
  for (const flag of command.options) {
    const value: unknown = command.getOptionValue(flag.attributeName());
    const entry = entries.find(({ option }) => `--${option.flag}` === flag.long);
    if (entry === undefined || value === undefined) continue;
    given.set(entry.option.flag, Array.isArray(value) ? value.map(String) : String(value));
  }
  return given;
}
