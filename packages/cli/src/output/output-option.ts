// `-o`: the output format.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { type Command, Option } from "commander";
import type { CommandContext } from "../command-context.ts";
import { plainJson, plainYaml } from "./plain-output.ts";
import { plainText } from "./plain-text.ts";

export type OutputFormat = "text" | "table" | "wide" | "json" | "yaml" | "name";
export type OutputFlags = { readonly output: OutputFormat };

/** Commands without `-o`, and why. A test compares them with the tree of commands. */
export const WITHOUT_OUTPUT: { readonly [command: string]: string } = {
  "postern agent": "runs until it is stopped",
  "postern serve": "runs until it is stopped; its log is JSON already",
  "postern recording play": "plays on a terminal; --format writes the recording, or its text",
  "postern credentials get": "prints the ExecCredential that kubectl reads, which is JSON",
  "postern completion": "prints a script",
};

/** For commands that list. */
export const LIST_FORMATS: readonly OutputFormat[] = ["table", "json", "yaml", "name"];

/** The first format is the default. `name` is for commands whose results have names. */
export const withOutputOption = (
  command: Command,
  formats: readonly OutputFormat[] = ["text", "json", "yaml"],
): Command =>
  command.addOption(new Option("-o, --output <format>", "output format").choices(formats).default(formats[0]));

/**
 * Whether the format is one for programs: then prints the value, or its names, one per line. The command prints all other formats.
 */
export function writeAs(
  { output }: OutputFlags,
  value: JsonValue,
  { stdout }: CommandContext,
  names: readonly string[] = [],
): boolean {
  if (output === "json") stdout.write(`${plainJson(value, 2)}\n`);
  else if (output === "yaml") stdout.write(plainYaml(value));
  else if (output === "name") for (const name of names) stdout.write(`${plainText(name)}\n`);
  return output === "json" || output === "yaml" || output === "name";
}
