// Names that identity providers and directories give to no user and no group: those of Kubernetes, of the platform, and of another cluster.

import type { PlatformNames } from "@postern/api/platform-names";
import type { Configuration } from "../config/configuration.ts";

type Settings = { readonly frontProxy: Pick<Configuration["frontProxy"], "clientCAFile" | "prefix"> };

/** Spaces and case are no way around these. */
const folded = (name: string): string => name.trim().toLowerCase();

/** Whether users of the cluster that forwards requests to this server have such names: roles bound to them are meant for those. */
export const isNameOfOtherCluster = (name: string, { frontProxy: { clientCAFile, prefix } }: Settings): boolean =>
  clientCAFile !== "" && folded(name).startsWith(prefix);

export const isReservedName = (
  name: string,
  { names, configuration }: { readonly names: Pick<PlatformNames, "name">; readonly configuration: Settings },
): boolean =>
  ["system:", `${names.name.toLowerCase()}:`].some((prefix) => folded(name).startsWith(prefix)) ||
  isNameOfOtherCluster(name, configuration);
