// `npm run package`: writes the parts of a release to dist/: npm package, single executables, Helm chart, systemd unit, bills of
// materials, checksums. Their names are unique without a folder, because publishing flattens folders.
// `npm run package -- npm` writes only the npm package, and `-- single-file` only the executable for this machine.

import { copyFileSync, renameSync, rmSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { REPOSITORY } from "./release/bundle-command.ts";
import { packFolder, writeNpmPackage } from "./release/npm-package.ts";
import { type Architecture, writeChecksums, writeSingleFiles } from "./release/single-file.ts";

const DIST = join(REPOSITORY, "dist");
const [wanted = "all"] = process.argv.slice(2);
const architectures: { readonly [wanted: string]: readonly Architecture[] } = {
  all: ["x64", "arm64"],
  npm: [],
  "single-file": [process.arch === "arm64" ? "arm64" : "x64"],
};
const forThese = architectures[wanted];
if (forThese === undefined) throw new Error(`npm run package -- ${Object.keys(architectures).join("|")}`);

// Files of an earlier version would look like a part of this one.
if (wanted === "all") rmSync(DIST, { recursive: true, force: true });
const files: string[] = [];
if (wanted !== "single-file") files.push(packNpmPackage(await writeNpmPackage()));
if (forThese.length > 0) files.push(...(await writeSingleFiles(forThese, DIST)));
if (wanted === "all") {
  // It uses the helm of the tests, which the container build does not have.
  const { writeHelmChart } = await import("./release/helm-chart.ts");
  files.push(await writeHelmChart(DIST), copyUnit());
}

/** npm and helm give their archives the same name. */
function packNpmPackage(folder: string): string {
  const packed = packFolder(folder, DIST);
  const archive = join(DIST, basename(packed).replace(/^postern-/, "postern-npm-"));
  renameSync(packed, archive);
  return archive;
}

/** Users who install the one file have no checkout with the unit. */
function copyUnit(): string {
  const unit = join(DIST, "postern.service");
  copyFileSync(join(REPOSITORY, "deploy/systemd/postern.service"), unit);
  return unit;
}

writeChecksums(
  DIST,
  files.map((path) => relative(DIST, path)),
);
console.log(files.join("\n"));
