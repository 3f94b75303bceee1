// `postern key disable`, `enable` and `revoke`: disable, enable or delete access keys.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { describeFailure } from "../failure.ts";
import { accessKeysOf } from "./access-keys.ts";

const NAMES = ["<name...>", "names of the keys"] as const;

export const createKeyDisableCommand = (context: CommandContext): Command =>
  createSwitchCommand(context, "disable", true).description(
    "disable access keys, and all credentials created with them, until they are enabled again",
  );

export const createKeyEnableCommand = (context: CommandContext): Command =>
  createSwitchCommand(context, "enable", false).description("enable disabled access keys");

export const createKeyRevokeCommand = (context: CommandContext): Command =>
  new Command("revoke")
    .description("delete access keys; they stop working immediately")
    .argument(...NAMES)
    .action((names: readonly string[], flags: ConnectionFlags) =>
      withClient(flags, context, async (client, group) => {
        await forEachKey(names, context, async (name) => {
          await accessKeysOf(client, group).delete(name);
          context.stdout.write(`access key ${name} revoked\n`);
        });
      }),
    );

const createSwitchCommand = (context: CommandContext, verb: "disable" | "enable", disabled: boolean): Command =>
  new Command(verb).argument(...NAMES).action((names: readonly string[], flags: ConnectionFlags) =>
    withClient(flags, context, async (client, group) => {
      await forEachKey(names, context, async (name) => {
        await accessKeysOf(client, group).patch(name, { type: "merge", patch: { spec: { disabled } } });
        context.stdout.write(`access key ${name} ${verb}d\n`);
      });
    }),
  );

/**
 * A failure for one key does not stop the others: each is printed, and the last one is thrown at the end.
 * Errors that affect all keys, such as a refused credential or an unreachable server, are thrown at once.
 */
async function forEachKey(
  names: readonly string[],
  { stderr }: CommandContext,
  act: (name: string) => Promise<void>,
): Promise<void> {
  let refusal: Error | undefined;
  for (const name of names) {
    try {
      await act(name);
    } catch (error) {
      if (!isApiError(error) || error.code === 401) throw error;
      if (refusal !== undefined) stderr.write(`postern: ${describeFailure(refusal)}\n`);
      refusal = error;
    }
  }
  if (refusal !== undefined) throw refusal;
}
