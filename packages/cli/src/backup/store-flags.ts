// Flags that select a store on this machine, as in `postern serve`, and the resulting configuration.

import type { Configuration } from "@postern/platform/foundation/config/configuration";
import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withConfigurationFlags } from "../serve/configuration-flags.ts";
import { UsageError } from "../usage-error.ts";

/** Flags that are needed to find and read a store: object keys contain the domain. */
const STORE_FLAGS = /^(data-dir|store|server-key-|previous-server-key-file|etcd-|platform-)/;

export type StoreFlags = {
  /** Whether the command line names a store. */
  isGiven(): boolean;
  /** Throws ConfigurationError or UsageError. `store` replaces --store. */
  load(store?: NamedStore): Promise<Configuration>;
};

/** A store in the form of --store, and the flag for it. */
export type NamedStore = { readonly flag: string; readonly text: string };

/** Adds the flags to the command. `without`: flags that the command does not support. */
export async function withStoreFlags(
  command: Command,
  context: CommandContext,
  without: readonly string[] = [],
): Promise<StoreFlags> {
  const isWanted = (flag: string): boolean => STORE_FLAGS.test(flag) && !without.includes(flag);
  const flags = await withConfigurationFlags(command, context, isWanted, "YAML file with the options of the server");
  return {
    isGiven: () => flags.namesFile() || flags.given().size > 0,
    async load(store) {
      if (store === undefined) return await flags.load(flags.given());
      const { storeAddress } = await import("@postern/platform/foundation/config/store-address");
      const address = storeAddress(store.text);
      if ("fault" in address) throw new UsageError(`${store.flag} ${address.fault}`);
      return await flags.load(new Map([...flags.given(), ["store", store.text]]));
    },
  };
}
