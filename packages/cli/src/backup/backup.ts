// `postern backup`: writes an encrypted backup of a store, through its server or directly.

import { resolve } from "node:path";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { Configuration } from "@postern/platform/foundation/config/configuration";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type ConnectionFlags, withClient, withConnectionOptions } from "../connection-options.ts";
import { withNotes } from "../help/help.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { createProgress, type Progress } from "../output/progress.ts";
import { UsageError } from "../usage-error.ts";
import { withStoreFlags } from "./store-flags.ts";

type BackupFlags = ConnectionFlags &
  OutputFlags & {
    readonly out?: string;
    readonly revocationsOut?: string;
    readonly backupKeyFile?: string;
  };

type Targets = {
  readonly out: string | undefined;
  readonly revocationsOut: string | undefined;
  readonly passphraseFile: string | undefined;
};

const BACKUP_PATH = "/backup";

export async function createBackupCommand(context: CommandContext): Promise<Command> {
  const command = new Command("backup")
    .description("write an encrypted, consistent copy of the store")
    .summary("back up the store")
    .option("--out <file>", "where to write it; the file must not exist")
    .option("--revocations-out <file>", "where to write the list of valid keys, for `postern restore`")
    .option("--backup-key-file <file>", "file with a passphrase to encrypt with, instead of the server key");
  withConnectionOptions(withOutputOption(command, ["text", "json", "yaml"]));
  const store = await withStoreFlags(command, context);
  withNotes(
    command,
    "With --data-dir, --store or --config, reads the store itself; no server may run on its database file.\n" +
      "Otherwise, requests the backup from the running server of the platform.",
  );
  return command.action(async (flags: BackupFlags) => {
    const fromHere = (path: string | undefined) =>
      path === undefined ? undefined : resolve(context.workingDirectory, path);
    const targets: Targets = {
      out: fromHere(flags.out),
      revocationsOut: fromHere(flags.revocationsOut),
      passphraseFile: fromHere(flags.backupKeyFile),
    };
    if (targets.out === undefined && targets.revocationsOut === undefined) {
      throw new UsageError("nothing to write: name a file with --out, with --revocations-out, or with both");
    }
    {
      using progress = createProgress({ ...context, isForPrograms: flags.output !== "text" });
      if (store.isGiven()) await backUpHere(targets, await store.load(), progress);
      else await backUpThroughServer(targets, flags, context, progress);
    }
    const files = [targets.out, targets.revocationsOut].filter((path) => path !== undefined);
    if (writeAs(flags, { files }, context)) return;
    for (const path of files) context.stdout.write(`${path} written\n`);
  });
}

async function backUpHere(targets: Targets, configuration: Configuration, progress: Progress): Promise<void> {
  const { backupStore } = await import("@postern/platform/operations/store-commands");
  await backupStore(configuration, targets, new AbortController().signal, progress.report);
}

/** The passphrase stays here: the server gets a key that is derived from it for this one file. */
async function backUpThroughServer(
  targets: Targets,
  flags: ConnectionFlags,
  context: CommandContext,
  progress: Progress,
): Promise<void> {
  const [{ writeNewFile }, { newBackupKey }] = await Promise.all([
    import("@postern/platform/operations/write-new-file"),
    import("@postern/platform/operations/store-commands"),
  ]);
  const key = await newBackupKey(targets.passphraseFile);
  await withClient(flags, context, async (client) => {
    const save = async (path: string | undefined, body: JsonObject): Promise<void> => {
      if (path === undefined) return;
      const { body: bytes } = await client.stream({ method: "POST", path: BACKUP_PATH, body });
      await writeNewFile(path, counted(bytes, progress));
    };
    const sent: JsonObject =
      key?.source.from === "passphrase"
        ? { key: { salt: key.source.salt, secret: Buffer.from(key.secret).toString("base64") } }
        : {};
    await save(targets.out, { content: "backup", ...sent });
    await save(targets.revocationsOut, { content: "revocations" });
  });
}

/** The size is known only at the end: the server sends the store as it reads it. */
async function* counted(bytes: AsyncIterable<Uint8Array>, progress: Progress): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const chunk of bytes) {
    done += chunk.length;
    progress.report({ phase: "receiving", unit: "bytes", done });
    yield chunk;
  }
}
