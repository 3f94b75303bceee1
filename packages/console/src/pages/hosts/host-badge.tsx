// The state of a host cluster: as a badge, and what to do while it is not connected.

import type { Cluster } from "@postern/api/cluster";
import { Badge, type Tone } from "../../components/badge.tsx";
import { named } from "../../texts/text.tsx";

const TONES: { readonly [phase: string]: Tone } = { Initialized: "good", Failed: "bad" };

/** How the server reaches it. */
export type HostWay = "local" | "agent" | "kubeconfig";

export const wayOf = ({ spec }: Cluster): HostWay =>
  spec?.local === true ? "local" : spec?.networkPeer === true ? "agent" : "kubeconfig";

export const hostPhaseOf = ({ status }: Cluster): string => status?.phase ?? "Pending";

/** The phase; of one that waits, what it waits for. */
export function hostStateText(cluster: Cluster): string {
  const phase = hostPhaseOf(cluster);
  const { reason = "" } = cluster.status ?? {};
  const waits = named("host.waits", reason);
  return phase === "Pending" && waits !== reason ? waits : named("host.phase", phase);
}

/** Undefined for one that is connected. The server says why; this says what to do. */
export function hostRemedy(cluster: Cluster): string | undefined {
  const phase = hostPhaseOf(cluster);
  if (phase === "Initialized") return undefined;
  const { reason = "" } = cluster.status ?? {};
  const ids = [`${phase}.${reason}`, reason, `way.${wayOf(cluster)}`];
  return ids.map((id) => named("host.remedy", id)).find((text, at) => text !== ids[at]);
}

export function HostBadge({ cluster }: { readonly cluster: Cluster }) {
  return <Badge tone={TONES[hostPhaseOf(cluster)] ?? "info"}>{hostStateText(cluster)}</Badge>;
}
