// The flags that choose a store on this machine, as `postern serve` has them, and the configuration they stand for.

import type { Configuration } from "@postern/platform/config/configuration";
import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { givenFlags, toFlag } from "../serve.ts";
import { UsageError } from "../usage-error.ts";

/** What a store is found and read by: the domain tells where the objects are in it. */
const STORE_FLAGS = /^(data-dir|store|server-key-|previous-server-key-file|etcd-|platform-)/;

export type StoreFlags = {
  /** The flags are added to this command. */
  readonly command: Command;
  /** Whether the command line names a store here. */
  isGiven(): boolean;
  /** Throws ConfigurationError or UsageError. `store` stands in place of --store. */
  load(store?: NamedStore): Promise<Configuration>;
};

/** A store as --store names it, and the flag that does. */
export type NamedStore = { readonly flag: string; readonly text: string };

/** `without` are flags that mean nothing to the command. */
export async function withStoreFlags(
  command: Command,
  { environment, workingDirectory }: CommandContext,
  without: readonly string[] = [],
): Promise<StoreFlags> {
  const { CATALOGUE_ENTRIES, CONFIG_ENVIRONMENT_NAME } = await import("@postern/platform/config/catalogue");
  const entries = CATALOGUE_ENTRIES.filter(
    ({ option }) => STORE_FLAGS.test(option.flag) && !without.includes(option.flag),
  );
  command.option("--config <file>", `YAML file with the options of the server [env: ${CONFIG_ENVIRONMENT_NAME}]`);
  for (const entry of entries) command.addOption(toFlag(entry));
  const config = () => command.opts<{ config?: string }>().config;
  return {
    command,
    isGiven: () => config() !== undefined || givenFlags(command, entries).size > 0,
    async load(store) {
      const [{ loadConfiguration }, { storeAddress }] = await Promise.all([
        import("@postern/platform/config/configuration"),
        import("@postern/platform/config/store-address"),
      ]);
      const flags = new Map(givenFlags(command, entries));
      if (store !== undefined) {
        const address = storeAddress(store.text);
        if ("fault" in address) throw new UsageError(`${store.flag} ${address.fault}`);
        flags.set("store", store.text);
      }
      const configFile = config();
      return await loadConfiguration({
        flags,
        environment,
        workingDirectory,
        ...(configFile === undefined ? {} : { configFile }),
      });
    },
  };
}
