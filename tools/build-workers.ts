// Unit tests load sources, but the thread of the SQLite store runs from `dist`: builds it, so that a clean clone needs no build.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export function setup(): void {
  const cwd = fileURLToPath(new URL("..", import.meta.url));
  execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "-b", "packages/stores"], {
    cwd,
    stdio: "inherit",
  });
}
