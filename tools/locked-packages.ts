// The npm packages of package-lock.json: those that `npm ci` installs, and those that only checks and tests need.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export type LockedPackage = {
  /** Below the repository, such as `node_modules/yaml`. */
  readonly folder: string;
  readonly version: string;
  /** Left out by `omit=dev` in .npmrc. */
  readonly isForTests: boolean;
  /** Installed on some systems only. */
  readonly isOptional: boolean;
};

type Entry = {
  readonly version?: string;
  readonly dev?: true;
  readonly optional?: true;
  readonly devOptional?: true;
  readonly link?: true;
};

const REPOSITORY = join(import.meta.dirname, "..");

/** Without the packages of the workspace itself. */
export function lockedPackages(): readonly LockedPackage[] {
  const { packages } = JSON.parse(readFileSync(join(REPOSITORY, "package-lock.json"), "utf8")) as {
    readonly packages: { readonly [folder: string]: Entry };
  };
  return Object.entries(packages)
    .filter(([folder, { link }]) => folder.includes("node_modules/") && link !== true)
    .map(([folder, { version = "", dev, optional, devOptional }]) => ({
      folder,
      version,
      isForTests: dev === true || devOptional === true,
      isOptional: optional === true || devOptional === true,
    }));
}

export function isInstalled({ folder, version }: Pick<LockedPackage, "folder" | "version">): boolean {
  try {
    const manifest = JSON.parse(readFileSync(join(REPOSITORY, folder, "package.json"), "utf8")) as Entry;
    return manifest.version === version;
  } catch {
    return false;
  }
}
