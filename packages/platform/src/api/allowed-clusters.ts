// Which clusters the instances of a project may be placed in.

import { EMBEDDED_CLUSTER } from "./cluster.ts";
import type { Project } from "./project.ts";

const EVERY_CLUSTER = "*";

/** Without a list it is the built-in cluster alone. A star counts only as the whole name. */
export function allowsCluster({ spec }: Project, cluster: string): boolean {
  const allowed = spec?.allowedClusters ?? [];
  if (allowed.length === 0) return cluster === EMBEDDED_CLUSTER;
  return allowed.some(({ name }) => name === EVERY_CLUSTER || name === cluster);
}
