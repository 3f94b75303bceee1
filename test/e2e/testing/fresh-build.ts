// Tests of whole servers run the command as it is built. Here it is built again where sources have changed since.

import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const REPOSITORY = fileURLToPath(new URL("../../../", import.meta.url));
const PACKAGES = join(REPOSITORY, "packages");
const SOURCE = /^[^/]+\/src\/.*(?<!\.test)\.ts$|^console\/(?:src\/.*\.(?:tsx|css|json)|index\.html)$/;
const BUNDLE = join(PACKAGES, "cli/bundle/postern.js");

export function setup(): void {
  if (builtAt() < lastChangeOfSources())
    execFileSync("npm", ["run", "--silent", "build"], { cwd: REPOSITORY, stdio: "inherit" });
}

const builtAt = (): number => statSync(BUNDLE, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function lastChangeOfSources(): number {
  const sources = readdirSync(PACKAGES, { recursive: true, encoding: "utf8" }).filter((path) => SOURCE.test(path));
  return Math.max(...sources.map((path) => statSync(join(PACKAGES, path)).mtimeMs));
}
