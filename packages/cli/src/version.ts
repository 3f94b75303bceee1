// `postern version`: which build this is, for people and for bug reports.

import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import type { CommandContext } from "./command-context.ts";

/** The package's own version. Sources and build stand equally deep below its package.json. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const hasVersion = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return hasVersion ? String(manifest.version) : "unknown";
}

export function createVersionCommand({ stdout }: CommandContext): Command {
  return new Command("version")
    .description("print the version")
    .addOption(new Option("-o, --output <format>", "how to print it").choices(["text", "json"]).default("text"))
    .action(({ output }: { output: string }) => {
      const version = {
        version: readVersion(),
        node: process.version,
        platform: `${process.platform}/${process.arch}`,
      };
      stdout.write(
        output === "json"
          ? `${JSON.stringify(version)}\n`
          : `postern ${version.version} (node ${version.node}, ${version.platform})\n`,
      );
    });
}
