// `postern version`: which build this is, for people and for bug reports.

import { readFileSync } from "node:fs";
import { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type OutputFlags, withOutputOption } from "./output-option.ts";

/** The package's own version. Sources and build stand equally deep below its package.json. */
export function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const hasVersion = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return hasVersion ? String(manifest.version) : "unknown";
}

/** For people, such as `postern 0.1.0 (node v20.19.0, linux/x64)`. */
export function versionText(): string {
  const { version, node, platform } = readBuild();
  return `postern ${version} (node ${node}, ${platform})`;
}

const readBuild = () => ({
  version: readVersion(),
  node: process.version,
  platform: `${process.platform}/${process.arch}`,
});

export function createVersionCommand({ stdout }: CommandContext): Command {
  return withOutputOption(new Command("version").description("print the version")).action(({ output }: OutputFlags) => {
    stdout.write(output === "json" ? `${JSON.stringify(readBuild())}\n` : `${versionText()}\n`);
  });
}
