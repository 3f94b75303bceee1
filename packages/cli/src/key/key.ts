// `postern key`: manages the caller's access keys.

import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withConnectionOptions } from "../connection-options.ts";
import { createKeyCompromisedCommand } from "./compromised.ts";
import { createKeyCreateCommand } from "./create.ts";
import { createKeyExplainCommand } from "./explain.ts";
import { createKeyGetCommand, createKeyListCommand } from "./list.ts";
import { createKeyDisableCommand, createKeyEnableCommand, createKeyRevokeCommand } from "./revoke.ts";
import { createKeyRotateCommand } from "./rotate.ts";

const COMMANDS = [
  createKeyCreateCommand,
  createKeyListCommand,
  createKeyGetCommand,
  createKeyExplainCommand,
  createKeyRotateCommand,
  createKeyCompromisedCommand,
  createKeyDisableCommand,
  createKeyEnableCommand,
  createKeyRevokeCommand,
];

export function createKeyCommand(context: CommandContext): Command {
  const key = new Command("key").description("manage your access keys");
  for (const create of COMMANDS) key.addCommand(withConnectionOptions(create(context)));
  return key;
}
