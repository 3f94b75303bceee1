// `postern restore`: restores a backup into a new store.

import { resolve } from "node:path";
import type { KeyChoice } from "@postern/platform/operations/store-commands";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { createProgress } from "../output/progress.ts";
import { UsageError } from "../usage-error.ts";
import { type StoreFlags, withStoreFlags } from "./store-flags.ts";

type RestoreFlags = OutputFlags & {
  readonly in: string;
  readonly backupKeyFile?: string;
  readonly revocations?: string;
  readonly newerStore?: string;
  readonly disableAllKeys?: boolean;
  readonly keepKeys?: boolean;
};

export async function createRestoreCommand(context: CommandContext): Promise<Command> {
  const command = new Command("restore")
    .description("restore a backup into a new store, without the keys that were revoked since")
    .summary("restore a backup")
    .requiredOption("--in <file>", "the backup")
    .option("--backup-key-file <file>", "file with the passphrase of the backup, if it has one")
    .option("--revocations <file>", "list of valid keys, newer than the backup: other keys are not restored")
    .option("--newer-store <store>", "newer store to take the list of valid keys from, in the format of --store")
    .option(
      "--disable-all-keys",
      "restore all access keys as disabled; the next start creates one for the administrator",
    )
    .option("--keep-keys", "restore all keys: keys that were revoked since the backup work again");
  withOutputOption(command, ["text", "json", "yaml"]);
  const store = await withStoreFlags(command, context);
  return command.action(async (flags: RestoreFlags) => {
    const fromHere = (path: string) => resolve(context.workingDirectory, path);
    const choice = await choiceOf(flags, store, fromHere);
    const configuration = await store.load();
    const { restoreStore } = await import("@postern/platform/operations/store-commands");
    using progress = createProgress({ ...context, isForPrograms: flags.output !== "text" });
    const { entries, keys, leftOut, listTakenAt, needsPreviousServerKey } = await restoreStore({
      configuration,
      file: fromHere(flags.in),
      choice,
      onProgress: progress.report,
      ...(flags.backupKeyFile === undefined ? {} : { passphraseFile: fromHere(flags.backupKeyFile) }),
    });
    progress[Symbol.dispose]();
    const outcome = {
      entries,
      accessKeys: { kept: keys.kept, disabled: keys.disabled, leftOut: keys["left out"] },
      leftOut,
      revocationsAsOf: listTakenAt === undefined ? null : new Date(listTakenAt).toISOString(),
      needsPreviousServerKey,
    };
    if (writeAs(flags, outcome, context)) return;
    context.stdout.write(
      `${entries} entries restored; access keys: ${keys.kept} kept, ${keys.disabled} disabled, ${keys["left out"]} left out\n`,
    );
    const { accessRequests, oneTimeValues } = leftOut;
    if (accessRequests > 0) {
      context.stdout.write(
        `${accessRequests} approved access requests left out, whose access is not granted any more\n`,
      );
    }
    if (oneTimeValues > 0) {
      context.stdout.write(`${oneTimeValues} one-time values left out, since each may have been used: create others\n`);
    }
    if (listTakenAt !== undefined) {
      const at = new Date(listTakenAt).toISOString();
      context.stdout.write(
        `keys and access that were revoked after ${at}, the time of the --revocations list, are valid again\n`,
      );
    }
    if (choice.type === "disable") context.stdout.write("the next start creates a key for the administrator\n");
    if (needsPreviousServerKey) {
      context.stdout.write(
        "it is encrypted with the previous server key: serve it with --previous-server-key-file until `postern encryption-key rotate`\n",
      );
    }
  });
}

/** There is no default: a wrong one would make a revoked key valid again, or lock out all users. */
async function choiceOf(
  { revocations, newerStore, disableAllKeys, keepKeys }: RestoreFlags,
  store: StoreFlags,
  fromHere: (path: string) => string,
): Promise<KeyChoice> {
  const choices: KeyChoice[] = [];
  if (revocations !== undefined) choices.push({ type: "revocations", file: fromHere(revocations) });
  if (newerStore !== undefined)
    choices.push({ type: "newer-store", configuration: await store.load({ flag: "--newer-store", text: newerStore }) });
  if (disableAllKeys === true) choices.push({ type: "disable" });
  if (keepKeys === true) choices.push({ type: "keep" });
  const [choice] = choices;
  if (choice !== undefined && choices.length === 1) return choice;
  throw new UsageError(
    "a backup does not know which keys were revoked after it: use one of --revocations, --newer-store, --disable-all-keys and --keep-keys",
  );
}
