// The third-party packages in a bundle, and the licences that have to be passed on.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./bundle-command.ts";

export type ThirdPartyPackage = {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
  /** Relative to the repository. */
  readonly folder: string;
};

const PACKAGE_FOLDER = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENCE_FILE = /^(licen[cs]e|copying|notice)(\.(md|txt))?$/i;

/** The packages of the sources, by name. `inputs`: paths relative to the repository. */
export function thirdPartyPackages(inputs: readonly string[]): readonly ThirdPartyPackage[] {
  const folders = new Set(inputs.flatMap((path) => PACKAGE_FOLDER.exec(path)?.[0] ?? []));
  return [...folders]
    .map((folder) => {
      const manifest = JSON.parse(readFileSync(join(REPOSITORY, folder, "package.json"), "utf8")) as ThirdPartyPackage;
      return { name: manifest.name, version: manifest.version, license: manifest.license, folder };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Throws if a package has no licence: it cannot be distributed. */
export function thirdPartyLicences(inputs: readonly string[]): string {
  const parts = thirdPartyPackages(inputs).map(({ name, version, license, folder }) => {
    const files = readdirSync(join(REPOSITORY, folder)).filter((file) => LICENCE_FILE.test(file));
    if (license === undefined) throw new Error(`${name} names no licence`);
    const texts = files.map((file) => readFileSync(join(REPOSITORY, folder, file), "utf8").trim());
    return [`${name} ${version} (${license})`, ...texts].join("\n\n");
  });
  const line = `\n\n${"-".repeat(80)}\n\n`;
  return `This program contains code of these packages, each under its own licence.${line}${parts.join(line)}\n`;
}
