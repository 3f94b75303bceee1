// `npm run package`: writes what a release consists of to dist/: the npm package, single executables, the Helm chart, the systemd unit, bills of
// materials, checksums. Their names differ without a folder, since those who publish files have none.
// `npm run package -- npm` writes the npm package alone, and `-- single-file` the executable for this machine.

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
  // Its helm is that of the tests, which the build of a container has not.
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

/** Who installs the one file has no checkout to take the unit from. */
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
