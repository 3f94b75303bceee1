// `postern generator delete`: deletes a kubeconfig generator with its Secrets, and revokes what is in them.

import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConfirmFlags, confirm, withYesOption } from "../confirm.ts";
import { type ConnectionFlags, withClient } from "../connection-options.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { plainText } from "../output/plain-text.ts";
import { generatorsOf, namedGenerator, type ProjectFlags, withProjectOption } from "./generators.ts";

type DeleteFlags = ConnectionFlags & OutputFlags & ProjectFlags & ConfirmFlags;

export const createGeneratorDeleteCommand = (context: CommandContext): Command =>
  withProjectOption(
    withOutputOption(
      withYesOption(
        new Command("delete")
          .description("delete a generator and its Secrets, and revoke the credentials; asks first on a terminal")
          .argument("<name>", "name of the generator, or <project>/<name>"),
      ),
      ["text", "json", "yaml", "name"],
    ),
  ).action((given: string, options: DeleteFlags) => {
    const { name, flags } = namedGenerator(given, options);
    return withClient(flags, context, async (client, group) => {
      const generators = generatorsOf(client, group, flags);
      const question = async (): Promise<string> => {
        const { status = {} } = await generators.get(name);
        return `Delete the generator ${name}? Its Secrets are deleted, and ${status.ready ?? 0} credentials are revoked.`;
      };
      await confirm(question, flags, context);
      await generators.delete(name);
      if (writeAs(flags, { name }, context, [name])) return;
      context.stdout.write(`${plainText(`kubeconfig generator ${name} deleted`)}\n`);
    });
  });
