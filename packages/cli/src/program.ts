// The tree of commands.

import { Command } from "commander";
import { createAccessCommand } from "./access/access.ts";
import { createAgentCommand } from "./agent/agent.ts";
import { createAuditCommand } from "./audit/audit.ts";
import { createBackupCommand } from "./backup/backup.ts";
import { createRestoreCommand } from "./backup/restore.ts";
import { createStoreCommand } from "./backup/store.ts";
import { createCaCommand } from "./ca/ca.ts";
import { createCiCommand } from "./ci/ci.ts";
import { createClusterCommand } from "./cluster/cluster.ts";
import type { CommandContext } from "./command-context.ts";
import { createCompleteNamesCommand } from "./completion/complete-names.ts";
import { createCompletionCommand } from "./completion/completion.ts";
import { platformHelp } from "./connection-options.ts";
import { createCredentialsCommand } from "./credentials.ts";
import { createDoctorCommand } from "./doctor.ts";
import { createEncryptionKeyCommand } from "./encryption-key.ts";
import { createGeneratorCommand } from "./generator/generator.ts";
import { exitCodesText, styleHelp, withNotes } from "./help/help.ts";
import { createManCommand } from "./help/man-pages.ts";
import { createKeyCommand } from "./key/key.ts";
import { createCredentialCommand } from "./kubeconfig/credential.ts";
import { createKubeconfigCommand } from "./kubeconfig/kubeconfig.ts";
import { createLoginCommand, createLogoutCommand, createStatusCommand, createWhoAmICommand } from "./login/login.ts";
import { withPlainText } from "./output/plain-text.ts";
import { createProviderCommand } from "./provider/provider.ts";
import { createRecordingCommand } from "./recording/recording.ts";
import { createServeCommand } from "./serve/serve.ts";
import { createTrustCommand } from "./trust/trust.ts";
import { createUnwrapCommand } from "./unwrap.ts";
import { createVersionCommand, versionText } from "./version.ts";

export async function createProgram(given: CommandContext): Promise<Command> {
  const context = { ...given, stderr: withPlainText(given.stderr) };
  const program = withNotes(
    withNotes(new Command("postern"), platformHelp())
      .description("manage access to virtual Kubernetes clusters")
      .version(versionText(), "--version", "print the version"),
    exitCodesText(),
  );
  program.addCommand(await createServeCommand(context));
  program.addCommand(createLoginCommand(context));
  program.addCommand(createLogoutCommand(context));
  program.addCommand(createWhoAmICommand(context));
  program.addCommand(createStatusCommand(context));
  program.addCommand(createKeyCommand(context));
  program.addCommand(createCredentialsCommand(context));
  program.addCommand(createKubeconfigCommand(context));
  program.addCommand(createGeneratorCommand(context));
  program.addCommand(createUnwrapCommand(context));
  program.addCommand(createCredentialCommand("credential", context), { hidden: true });
  program.addCommand(createAccessCommand(context));
  program.addCommand(createCiCommand(context));
  program.addCommand(createTrustCommand(context));
  program.addCommand(createProviderCommand(context));
  program.addCommand(createClusterCommand(context));
  program.addCommand(createCaCommand(context));
  program.addCommand(await createBackupCommand(context));
  program.addCommand(await createRestoreCommand(context));
  program.addCommand(await createStoreCommand(context));
  program.addCommand(createEncryptionKeyCommand(context));
  program.addCommand(createAgentCommand(context));
  program.addCommand(createAuditCommand(context));
  program.addCommand(createRecordingCommand(context));
  program.addCommand(await createDoctorCommand(context));
  program.addCommand(createVersionCommand(context));
  program.addCommand(createCompletionCommand(context, program));
  program.addCommand(createCompleteNamesCommand(context), { hidden: true });
  program.addCommand(createManCommand(context, program));
  styleHelp(program, context);
  return program;
}
