// The tree of commands.

import { Command } from "commander";
import { createAuditCommand } from "./audit/audit.ts";
import { createBackupCommand } from "./backup/backup.ts";
import { createRestoreCommand } from "./backup/restore.ts";
import { createStoreCommand } from "./backup/store.ts";
import type { CommandContext } from "./command-context.ts";
import { createCompletionCommand } from "./completion.ts";
import { createCredentialsCommand } from "./credentials.ts";
import { createKeyCommand } from "./key/key.ts";
import { createKeysCommand } from "./keys.ts";
import { createKubeConfigCommand } from "./kube-config.ts";
import { createServeCommand } from "./serve.ts";
import { createVersionCommand, versionText } from "./version.ts";

export async function createProgram(context: CommandContext): Promise<Command> {
  const program = new Command("postern")
    .description("Hands out the keys to virtual Kubernetes clusters")
    .version(versionText(), "--version", "print the version");
  program.addCommand(await createServeCommand(context));
  program.addCommand(createKeyCommand(context));
  program.addCommand(createCredentialsCommand(context));
  program.addCommand(createKubeConfigCommand(context));
  program.addCommand(await createBackupCommand(context));
  program.addCommand(await createRestoreCommand(context));
  program.addCommand(await createStoreCommand(context));
  program.addCommand(createKeysCommand(context));
  program.addCommand(createAuditCommand(context));
  program.addCommand(createVersionCommand(context));
  program.addCommand(createCompletionCommand(context, program));
  return program;
}
