// `postern audit`: looks at the audit log of a server.

import { createHash, createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { CHAIN_START, createChainReader } from "@postern/apimachinery/audit/audit-chain";
import { linesOf } from "@postern/platform/audit/log-files";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";
import { createAuditSearchCommand } from "./search.ts";

const FAULTS = {
  "not-json": "is not complete: the server was stopped while writing it, or it was truncated",
  "not-chained": "has no hash of the line before it",
  "not-sealed": "is not authenticated with this key: it was written or changed without the key",
  broken: "does not follow the line before it: a line was changed, added or removed",
} as const;

export function createAuditCommand(context: CommandContext): Command {
  const { stdout } = context;
  const verify = new Command("verify")
    .description("verify that no line of an audit log was changed or removed")
    .argument("<file...>", "the logs, oldest first, such as audit.log.2 audit.log.1 audit.log")
    .option("--from <sha256>", "expected hash of the first line, as printed by a check of the lines before it")
    .option(
      "--through <sha256>",
      "hash that an earlier check printed for its last line. The line must exist: this detects a truncated log",
    )
    .option(
      "--key-file <file>",
      "file of --audit-log-key-file. Every line must be authenticated with this key, so that a replaced log is detected",
    )
    .action(async (files: readonly string[], { from, through, keyFile }: VerifyFlags) => {
      const hmac = keyFile === undefined ? undefined : await readHmac(keyFile);
      let isThere = through === undefined;
      let head = from;
      let total = 0;
      let faulty = 0;
      for (const file of files) {
        const reader = createChainReader(sha256, head, through, hmac);
        for await (const line of linesOf(file)) reader.read(line);
        const { lines, faults, startsAfter, endsWith, holdsWanted } = reader.report();
        for (const { line, fault } of faults) stdout.write(`${file}:${line} ${FAULTS[fault]}\n`);
        const start = startsAfter === CHAIN_START ? "from the first line" : `after ${startsAfter}`;
        stdout.write(`${file}: ${lines} lines, ${start}, last ${endsWith}\n`);
        head = endsWith;
        isThere ||= holdsWanted;
        total += lines;
        faulty += faults.length;
      }
      if (!isThere) throw new UsageError(`the line ${through} is missing: the end of the log was cut off or replaced`);
      if (faulty > 0) throw new UsageError(`${faulty} of ${total} lines do not match the chain`);
    });
  return new Command("audit")
    .description("search and verify the audit log of a server")
    .addCommand(verify)
    .addCommand(createAuditSearchCommand(context));
}

type VerifyFlags = { readonly from?: string; readonly through?: string; readonly keyFile?: string };

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");

async function readHmac(path: string): Promise<(text: string) => string> {
  const text = await readFile(path, "utf8").catch(() => "");
  if (!/^[0-9a-f]{64}\n?$/.test(text)) throw new UsageError(`${path} does not contain 64 hexadecimal digits`);
  const key = Buffer.from(text.trim(), "hex");
  return (line) => createHmac("sha256", key).update(line, "utf8").digest("hex");
}
