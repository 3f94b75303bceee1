// `postern store`: copies a store to another location.

import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { createProgress } from "../output/progress.ts";
import { withStoreFlags } from "./store-flags.ts";

type CopyFlags = OutputFlags & { readonly from: string; readonly to: string };

export async function createStoreCommand(context: CommandContext): Promise<Command> {
  const copy = new Command("copy")
    .description("copy a store into a new one, and verify the copy; stop its servers first")
    .requiredOption("--from <store>", "the store to read, such as sqlite:<file> or etcd://<host:port>,…")
    .requiredOption("--to <store>", "the store to write, which must be empty");
  withOutputOption(copy, ["text", "json", "yaml"]);
  const store = await withStoreFlags(copy, context, [
    "store",
    "server-key-file",
    "server-key-command",
    "previous-server-key-file",
  ]);
  copy.action(async ({ from, to, output }: CopyFlags) => {
    const { copyBetween } = await import("@postern/platform/operations/store-commands");
    const signal = new AbortController().signal;
    const [source, target] = [
      await store.load({ flag: "--from", text: from }),
      await store.load({ flag: "--to", text: to }),
    ];
    using progress = createProgress({ ...context, isForPrograms: output !== "text" });
    const { entries, sha256 } = await copyBetween(source, target, signal, progress.report);
    progress[Symbol.dispose]();
    if (writeAs({ output }, { entries, sha256 }, context)) return;
    context.stdout.write(`${entries} entries copied and compared, SHA-256 ${sha256}\n`);
  });
  return new Command("store").description("move a store").addCommand(copy);
}
