// Parses the name of a virtual cluster on a command line: project and name.

import { InvalidArgumentError } from "commander";

export type VirtualClusterName = { readonly project: string; readonly virtualCluster: string };

/** Throws commander's InvalidArgumentError, so that the message names the flag. */
export function parseVirtualCluster(text: string): VirtualClusterName {
  const [project = "", virtualCluster = "", ...rest] = text.split("/");
  if (project === "" || virtualCluster === "" || rest.length > 0) {
    throw new InvalidArgumentError("Write project/name, such as default/demo.");
  }
  return { project, virtualCluster };
}
