// `postern cluster`: clusters that agents connect.

import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withConnectionOptions } from "../connection-options.ts";
import { createClusterJoinCommand } from "./join.ts";
import { createClusterLeaveCommand, createClusterRotateCommand } from "./leave.ts";
import { createClusterListCommand } from "./list.ts";

const COMMANDS = [
  createClusterListCommand,
  createClusterJoinCommand,
  createClusterLeaveCommand,
  createClusterRotateCommand,
];

export function createClusterCommand(context: CommandContext): Command {
  const cluster = new Command("cluster").description("connect clusters by an agent in them");
  for (const create of COMMANDS) cluster.addCommand(withConnectionOptions(create(context)));
  return cluster;
}
