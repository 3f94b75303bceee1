// The Kubernetes API version that `/version` reports.

import { BUILD_INFO } from "@postern/apimachinery/build-info";
import type { VersionInfo } from "@postern/apiserver/version/version-info";

/** Names of architectures in Go, where Node has others. */
const ARCHITECTURES: { readonly [architecture: string]: string } = { x64: "amd64", ia32: "386" };

/** For clients of the original interface, which want a semantic version beside what Kubernetes says. */
export const WITH_PRODUCT_VERSION = { version: `v${BUILD_INFO.version}` };

/** Clients compare the minor version with their own; the build metadata behind the plus is Postern's, since a version can have only one plus. */
export const SERVED_VERSION: VersionInfo = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion: `v1.36.2+postern-${BUILD_INFO.version.replaceAll("+", ".")}`,
  gitCommit: BUILD_INFO.commit,
  gitTreeState: "clean",
  buildDate: BUILD_INFO.date,
  goVersion: "",
  compiler: "",
  platform: `${process.platform}/${ARCHITECTURES[process.arch] ?? process.arch}`,
};
