// `--wrap`: prints a value that reads the credential once, instead of the credential.

import type { JsonObject, JsonValue } from "@postern/apimachinery/json/json-value";
import type { WriteOptions } from "@postern/client/resource-client";
import { type Command, Option } from "commander";
import type { CommandContext } from "./command-context.ts";
import { parseDurationSeconds } from "./duration-seconds.ts";
import { accessKeyAt, objectAt } from "./output/json-members.ts";
import { type OutputFlags, writeAs } from "./output/output-option.ts";
import { cellText } from "./output/print-table.ts";
import { UsageError } from "./usage-error.ts";

/** Seconds. */
export type WrapFlags = { readonly wrap?: number };

export const wrapOption = (conflicts: readonly string[]): Option =>
  new Option(
    "--wrap <duration>",
    "print a value instead, which postern unwrap exchanges for the credential once, within this time, such as 5m",
  )
    .argParser(parseDurationSeconds)
    .conflicts([...conflicts]);

export const withWrapOption = (command: Command, conflicts: readonly string[] = []): Command =>
  command.addOption(wrapOption(conflicts));

export const wrapQuery = ({ wrap }: WrapFlags): Pick<WriteOptions, "query"> =>
  wrap === undefined ? {} : { query: { wrap: `${wrap}s` } };

/** `status` is that of the response. */
export function writeWrapped(status: JsonValue | undefined, flags: OutputFlags, context: CommandContext): void {
  const wrapped: JsonObject = objectAt(status, "wrapped");
  const value = accessKeyAt(wrapped, "value");
  if (value === "") throw new UsageError("the server wrapped nothing: it may be of an earlier release");
  if (!writeAs(flags, wrapped, context)) context.stdout.write(`${value}\n`);
  const until = cellText(wrapped["expirationTimestamp"]);
  context.stderr.write(`postern unwrap exchanges the value for the credential, once, until ${until}\n`);
}
