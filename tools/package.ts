// `npm run package`: writes the parts of a release to dist/: npm package, single executables, Helm chart, systemd unit, bills of
// materials, checksums. Their names are unique without a folder, because publishing flattens folders.
// With a word it builds one of them: `npm run package -- npm|single-file|chart|image`; the executable is that for this machine.

import { spawnSync } from "node:child_process";
import { copyFileSync, renameSync, rmSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { readBuildInfo } from "./release/build-info.ts";
import { REPOSITORY } from "./release/bundle-command.ts";
import { packFolder, writeNpmPackage } from "./release/npm-package.ts";
import { writeChecksums, writeSingleFiles } from "./release/single-file.ts";

const DIST = join(REPOSITORY, "dist");

/** Each returns the paths of its files. */
const PARTS: { readonly [name: string]: () => Promise<readonly string[]> } = {
  npm: async () => [packNpmPackage(await writeNpmPackage())],
  "single-file": () => writeExecutables([process.arch === "arm64" ? "arm64" : "x64"]),
  chart: writeCharts,
  image: async () => buildImage(),
  all: async () => {
    // Files of an earlier version would look like a part of this one.
    rmSync(DIST, { recursive: true, force: true });
    const npm = packNpmPackage(await writeNpmPackage());
    return [npm, ...(await writeExecutables(["x64", "arm64"])), ...(await writeCharts()), copyUnit()];
  },
};

const [wanted = "all"] = process.argv.slice(2);
const build = Object.hasOwn(PARTS, wanted) ? PARTS[wanted] : undefined;
if (build === undefined) throw new Error(`npm run package -- ${Object.keys(PARTS).join("|")}`);
const files = await build();
if (files.length > 0) {
  writeChecksums(
    DIST,
    files.map((path) => relative(DIST, path)),
  );
  console.log(files.map((path) => relative(REPOSITORY, path)).join("\n"));
}

/** npm and helm give their archives the same name. */
function packNpmPackage(folder: string): string {
  const packed = packFolder(folder, DIST);
  const archive = join(DIST, basename(packed).replace(/^postern-/, "postern-npm-"));
  renameSync(packed, archive);
  return archive;
}

async function writeExecutables(architectures: readonly ("x64" | "arm64")[]): Promise<readonly string[]> {
  runScript("nodes");
  return await writeSingleFiles(architectures, DIST);
}

/** They use the helm of the tests, which the container build does not have. */
async function writeCharts(): Promise<readonly string[]> {
  runScript("test-packages");
  const { writeHelmCharts } = await import("./release/helm-charts.ts");
  return await writeHelmCharts(DIST);
}

function buildImage(): readonly string[] {
  const { version, commit, date } = readBuildInfo();
  const values = {
    POSTERN_VERSION: version,
    POSTERN_COMMIT: commit,
    SOURCE_DATE_EPOCH: Math.floor(Date.parse(date) / 1000),
  };
  const args = Object.entries(values).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
  const command = ["docker", "podman"].find((program) => spawnSync(program, ["--version"]).status === 0);
  if (command === undefined) {
    console.error("the image is built by docker or podman: install one of them");
    process.exit(1);
  }
  run(command, ["build", "--file", "deploy/Dockerfile", "--tag", "postern", ...args, "."]);
  return [];
}

function runScript(name: string): void {
  run("npm", ["run", "--silent", name]);
}

function run(command: string, args: readonly string[]): void {
  const { status } = spawnSync(command, args, { cwd: REPOSITORY, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

/** Users who install the one file have no checkout with the unit. */
function copyUnit(): string {
  const unit = join(DIST, "postern.service");
  copyFileSync(join(REPOSITORY, "deploy/systemd/postern.service"), unit);
  return unit;
}
