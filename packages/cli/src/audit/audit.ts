// `postern audit`: searches and verifies audit logs.

import { createHash, createHmac, createSecretKey } from "node:crypto";
import { readFile } from "node:fs/promises";
import { CHAIN_START, createChainReader, type TornEnd } from "@postern/apimachinery/audit/audit-chain";
import { linesOf } from "@postern/platform/features/audit/log-files";
import { Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { type OutputFlags, withOutputOption, writeAs } from "../output/output-option.ts";
import { UsageError } from "../usage-error.ts";
import { createAuditSearchCommand } from "./audit-search.ts";

const FAULTS = {
  "not-json": "is not complete: the server was stopped while writing it, or it was truncated",
  "not-chained": "has no hash of the line before it",
  "not-sealed": "is not authenticated with this key: it was written or changed without the key",
  broken: "does not follow the line before it: a line was changed, added or removed",
} as const;

const TORN = "was written in part, when the disk was full or the server was killed; the next line confirms it";

export function createAuditCommand(context: CommandContext): Command {
  const verify = withOutputOption(new Command("verify"))
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
    .action(async (files: readonly string[], flags: VerifyFlags) => {
      const { stdout } = context;
      const isText = flags.output === "text";
      const result = await verifyLogs(files, flags, {
        onLine: ({ file, line, message }) => isText && stdout.write(`${file}:${line} ${message}\n`),
        onFile: ({ file, lines, after, last }) =>
          isText &&
          stdout.write(
            `${file}: ${lines} lines, ${after === null ? "from the first line" : `after ${after}`}, last ${last}\n`,
          ),
      });
      writeAs(flags, result, context);
      if (!result.holdsThrough)
        throw new UsageError(`the line ${flags.through} is missing: the end of the log was cut off or replaced`);
      if (result.faults > 0) throw new UsageError(`${result.faults} of ${result.lines} lines do not match the chain`);
    });
  return new Command("audit")
    .description("search and verify the audit log of a server")
    .addCommand(verify)
    .addCommand(createAuditSearchCommand(context));
}

type VerifyFlags = OutputFlags & { readonly from?: string; readonly through?: string; readonly keyFile?: string };

type RemarkableLine = {
  readonly file: string;
  readonly line: number;
  /** False for a line that was written in part, and confirmed by the next. */
  readonly isFault: boolean;
  readonly message: string;
};
type VerifiedFile = {
  readonly file: string;
  readonly lines: number;
  /** The hash before its first line; null at the beginning of a log. */
  readonly after: string | null;
  readonly last: string;
};
type Verification = {
  readonly lines: number;
  readonly faults: number;
  /** Whether the line of --through was found. */
  readonly holdsThrough: boolean;
  readonly files: readonly VerifiedFile[];
  readonly remarkable: readonly RemarkableLine[];
};

async function verifyLogs(
  paths: readonly string[],
  { from, through, keyFile }: VerifyFlags,
  { onLine, onFile }: { onLine: (line: RemarkableLine) => unknown; onFile: (file: VerifiedFile) => unknown },
): Promise<Verification> {
  const hmac = keyFile === undefined ? undefined : await readHmac(keyFile);
  const files: VerifiedFile[] = [];
  const remarkable: RemarkableLine[] = [];
  let holdsThrough = through === undefined;
  let head = from;
  let total = 0;
  let faulty = 0;
  /** The end of the file before, where it was written in part. */
  let torn: (TornEnd & { readonly file: string }) | undefined;
  const tell = (
    path: string,
    line: number,
    { message, isFault = true }: { readonly message: string; readonly isFault?: boolean },
  ): void => {
    // Line 0 means those at the end of the file before.
    const [file, lines] = line > 0 || torn === undefined ? [path, [line]] : [torn.file, torn.lines];
    for (const at of lines) {
      const remark = { file, line: at, isFault, message };
      remarkable.push(remark);
      onLine(remark);
    }
  };
  for (const file of paths) {
    const reader = createChainReader(sha256, head, through, hmac, torn);
    for await (const line of linesOf(file)) reader.read(line);
    const { lines, faults, torn: confirmed, tornEnd, startsAfter, endsWith, holdsWanted } = reader.report();
    for (const { line, fault } of faults) tell(file, line, { message: FAULTS[fault] });
    for (const line of confirmed) tell(file, line, { message: TORN, isFault: false });
    const verified = { file, lines, after: startsAfter === CHAIN_START ? null : startsAfter, last: endsWith };
    files.push(verified);
    onFile(verified);
    head = endsWith;
    holdsThrough ||= holdsWanted;
    total += lines;
    faulty += faults.length;
    // A file without lines says nothing of the one before it.
    if (lines > 0) torn = tornEnd && { ...tornEnd, file };
  }
  // Nothing confirms the last line of all.
  if (torn !== undefined) {
    tell(torn.file, 0, { message: FAULTS["not-json"] });
    faulty += torn.lines.length;
  }
  return { lines: total, faults: faulty, holdsThrough, files, remarkable };
}

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");

async function readHmac(path: string): Promise<(text: string) => string> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read the key of the audit log in ${path} (${error.code})`);
  });
  if (!/^[0-9a-f]{64}\n?$/.test(text)) throw new UsageError(`${path} does not contain 64 hexadecimal digits`);
  const key = createSecretKey(text.trim(), "hex");
  return (line) => createHmac("sha256", key).update(line, "utf8").digest("hex");
}
