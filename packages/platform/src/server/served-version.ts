// The version of the Kubernetes API that the server speaks, as `/version` tells it.

import type { VersionInfo } from "@postern/apiserver/version/version-info";

/** What Go calls the architectures that Node has other names for. */
const ARCHITECTURES: { readonly [architecture: string]: string } = { x64: "amd64", ia32: "386" };

const PRODUCT_VERSION = "0.1.0";

/** For clients of the original interface, which want a semantic version beside what Kubernetes says. */
export const WITH_PRODUCT_VERSION = { version: `v${PRODUCT_VERSION}` };

/** Clients compare the minor version with their own; what is behind the plus is Postern's. */
export const SERVED_VERSION: VersionInfo = {
  major: "1",
  minor: "32",
  gitVersion: `v1.32.13+postern-${PRODUCT_VERSION}`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: `${process.platform}/${ARCHITECTURES[process.arch] ?? process.arch}`,
};
