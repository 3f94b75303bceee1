// `postern key disable`, `enable` and `revoke`: stop access keys for a while, let them work again, or end them.

import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { accessKeysOf } from "./access-keys.ts";

const NAMES = ["<name...>", "names of the keys"] as const;

export const createKeyDisableCommand = (context: CommandContext): Command =>
  createSwitchCommand(context, "disable", true).description(
    "stop access keys, and all that was made with them, until they are enabled again",
  );

export const createKeyEnableCommand = (context: CommandContext): Command =>
  createSwitchCommand(context, "enable", false).description("let disabled access keys work again");

export const createKeyRevokeCommand = (context: CommandContext): Command =>
  new Command("revoke")
    .description("delete access keys; they stop working at once")
    .argument(...NAMES)
    .action((names: readonly string[], flags: ConnectionFlags) =>
      withClient(flags, context, async (client, group) => {
        for (const name of names) {
          await accessKeysOf(client, group).delete(name);
          context.stdout.write(`access key ${name} revoked\n`);
        }
      }),
    );

const createSwitchCommand = (context: CommandContext, verb: "disable" | "enable", disabled: boolean): Command =>
  new Command(verb).argument(...NAMES).action((names: readonly string[], flags: ConnectionFlags) =>
    withClient(flags, context, async (client, group) => {
      for (const name of names) {
        await accessKeysOf(client, group).patch(name, { type: "merge", patch: { spec: { disabled } } });
        context.stdout.write(`access key ${name} ${verb}d\n`);
      }
    }),
  );
