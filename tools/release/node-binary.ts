// Node binaries of other versions than the running one, from npm.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./bundle-command.ts";

/** The version is in tools/nodes/package.json. Linux x64 only. */
export function nodeBinary(name: "node-24" | "node-26"): string {
  const binary = join(REPOSITORY, "tools/nodes/node_modules", name, "bin/node");
  if (!existsSync(binary)) throw new Error(`${name} is not installed: npm run nodes`);
  return binary;
}
