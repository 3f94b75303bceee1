// Packs the Helm charts with the version of the build. The npm package of a release has the same name and version as the chart of the server, and
// helm names its archives like npm: the name of that chart contains `chart`.

import { execFileSync } from "node:child_process";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { kubernetesTools } from "../../test/e2e/testing/kubernetes-tools.ts";
import { readBuildInfo } from "./build-info.ts";
import { REPOSITORY } from "./bundle-command.ts";

const CHARTS = join(REPOSITORY, "deploy/charts");

/** Returns the paths of the archives: of the server, and of the agent. */
export async function writeHelmCharts(folder: string): Promise<readonly [server: string, agent: string]> {
  const { helm } = await kubernetesTools("1.35");
  const { version } = readBuildInfo();
  for (const chart of ["postern", "postern-agent"]) {
    const args = ["package", join(CHARTS, chart), "--version", version, "--app-version", version];
    execFileSync(helm, [...args, "--destination", folder], { stdio: ["ignore", "ignore", "inherit"] });
  }
  const server = join(folder, `postern-chart-${version}.tgz`);
  renameSync(join(folder, `postern-${version}.tgz`), server);
  return [server, join(folder, `postern-agent-${version}.tgz`)];
}
