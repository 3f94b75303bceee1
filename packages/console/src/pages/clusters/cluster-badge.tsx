// A badge with the state of a virtual cluster, and whether it is external.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Badge, type Tone } from "../../components/badge.tsx";
import { named, t } from "../../texts/text.tsx";

const TONES: { readonly [phase: string]: Tone } = { Ready: "good", Sleeping: "muted", Pending: "info", Failed: "bad" };

const BUILT_IN = "embedded";

/** The name of a host cluster as pages show it: `*` are all. */
export const hostName = (name: string): string =>
  name === "*" ? t("project.clusters.all") : name === BUILT_IN ? t("cluster.where.builtIn") : name;

/** Whether this server runs it. Users run external clusters themselves. */
export const isBuiltIn = ({ spec }: VirtualClusterInstance): boolean =>
  spec?.external !== true && spec?.clusterRef?.cluster === BUILT_IN;

export const phaseOf = ({ metadata, status }: VirtualClusterInstance): string =>
  metadata.deletionTimestamp == null ? (status?.phase ?? "Pending") : "Deleting";

export function ClusterBadge({ cluster }: { readonly cluster: VirtualClusterInstance }) {
  const phase = phaseOf(cluster);
  return <Badge tone={TONES[phase] ?? "info"}>{named("cluster.phase", phase)}</Badge>;
}
