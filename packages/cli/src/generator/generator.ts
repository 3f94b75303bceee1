// `postern generator`: kubeconfig generators, which keep Secrets with kubeconfigs for the virtual clusters of a project.

import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { withConnectionOptions } from "../connection-options.ts";
import { createGeneratorCreateCommand } from "./create.ts";
import { createGeneratorDeleteCommand } from "./delete.ts";
import { createGeneratorGetCommand, createGeneratorListCommand } from "./list.ts";

const COMMANDS = [
  createGeneratorListCommand,
  createGeneratorGetCommand,
  createGeneratorCreateCommand,
  createGeneratorDeleteCommand,
];

export function createGeneratorCommand(context: CommandContext): Command {
  const generator = new Command("generator").description("Secrets with kubeconfigs for a fleet of virtual clusters");
  for (const create of COMMANDS) generator.addCommand(withConnectionOptions(create(context)));
  return generator;
}
