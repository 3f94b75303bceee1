// `postern version`: prints the version and commit of this build.

import { BUILD_INFO } from "@postern/apimachinery/build-info";
import { Command } from "commander";
import type { CommandContext } from "./command-context.ts";
import { type OutputFlags, withOutputOption, writeAs } from "./output/output-option.ts";

/** For people, such as `postern 0.1.0 (commit 1f2e3d4c5b6a, 2026-11-22T20:00:00Z; node v24.18.0, linux/x64)`. */
export function versionText(): string {
  const { version, commit, date, node, platform } = readBuild();
  const source = commit === "" ? "" : `commit ${commit.slice(0, 12)}, ${date}; `;
  return `postern ${version} (${source}node ${node}, ${platform})`;
}

const readBuild = () => ({ ...BUILD_INFO, node: process.version, platform: `${process.platform}/${process.arch}` });

export function createVersionCommand(context: CommandContext): Command {
  return withOutputOption(new Command("version").description("print the version")).action((flags: OutputFlags) => {
    if (!writeAs(flags, readBuild(), context)) context.stdout.write(`${versionText()}\n`);
  });
}
