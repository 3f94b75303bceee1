// Packs the Helm chart with the version of the build. The npm package of a release has the same name and version, and helm names its archives
// like npm: this name contains `chart`.

import { execFileSync } from "node:child_process";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { kubernetesTools } from "../../test/e2e/testing/kubernetes-tools.ts";
import { readBuildInfo } from "./build-info.ts";
import { REPOSITORY } from "./bundle-command.ts";

/** Returns the path of the archive. */
export async function writeHelmChart(folder: string): Promise<string> {
  const { helm } = await kubernetesTools("1.35");
  const { version } = readBuildInfo();
  const chart = join(REPOSITORY, "deploy/charts/postern");
  execFileSync(helm, ["package", chart, "--version", version, "--app-version", version, "--destination", folder], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const archive = join(folder, `postern-chart-${version}.tgz`);
  renameSync(join(folder, `postern-${version}.tgz`), archive);
  return archive;
}
