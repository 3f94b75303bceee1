// Installs the npm packages that checks and tests need, if they are missing: `npm ci` installs only what building and starting needs. Prints nothing if all
// are there.

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { isInstalled, lockedPackages } from "./locked-packages.ts";

const missing = lockedPackages().filter((locked) => locked.isForTests && !locked.isOptional && !isInstalled(locked));
if (missing.length > 0) {
  console.log(`Installing ${missing.length} packages that only checks and tests need`);
  const args = ["install", "--include=dev", "--no-save", "--prefer-offline", "--silent"];
  // Windows has npm as a script of its shell.
  const { status } = spawnSync("npm", args, {
    cwd: join(import.meta.dirname, ".."),
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  process.exitCode = status ?? 1;
}
