// A copy of the repository with installed packages, in which commands of the README build and start as in a clone.

import { cp, mkdir, readdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isInstalled, type LockedPackage, lockedPackages } from "../../../tools/locked-packages.ts";
import { repositoryFiles } from "../../../tools/source-files.ts";
import { REPOSITORY } from "../../e2e/testing/postern-process.ts";

/** `isWanted`: the packages that are installed there. */
export async function copyRepository(target: string, isWanted: (locked: LockedPackage) => boolean): Promise<void> {
  for (const path of repositoryFiles()) await cp(join(REPOSITORY, path), join(target, path));
  for (const locked of lockedPackages().filter((each) => isWanted(each) && isInstalled(each))) {
    const { folder } = locked;
    // Those inside of another come with it.
    if (folder.indexOf("node_modules/") !== folder.lastIndexOf("node_modules/")) continue;
    await mkdir(dirname(join(target, folder)), { recursive: true });
    await symlink(join(REPOSITORY, folder), join(target, folder));
  }
  await mkdir(join(target, "node_modules/@postern"), { recursive: true });
  for (const name of await readdir(join(target, "packages")))
    await symlink(join(target, "packages", name), join(target, "node_modules/@postern", name));
  await cp(join(REPOSITORY, "node_modules/.bin"), join(target, "node_modules/.bin"), {
    recursive: true,
    verbatimSymlinks: true,
  });
}
