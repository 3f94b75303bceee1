// `-o`: how a command prints what it found.

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { type Command, Option } from "commander";
import type { CommandContext } from "./command-context.ts";

export type OutputFlags = { readonly output: "text" | "json" };

export const withOutputOption = (command: Command): Command =>
  command.addOption(new Option("-o, --output <format>", "how to print it").choices(["text", "json"]).default("text"));

/** Indented, for people and programs alike. */
export function writeJson(value: JsonValue, { stdout }: CommandContext): void {
  stdout.write(`${JSON.stringify(value, undefined, 2)}\n`);
}
