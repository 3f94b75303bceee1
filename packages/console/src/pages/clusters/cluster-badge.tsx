// The state of a virtual cluster, as a word.

import type { VirtualCluster } from "../../api/resources.ts";
import { Badge, type Tone } from "../../components/ui.tsx";
import { named } from "../../texts/text.tsx";

const TONES: { readonly [phase: string]: Tone } = { Ready: "good", Sleeping: "muted", Pending: "info", Failed: "bad" };

export function ClusterBadge({ cluster }: { readonly cluster: VirtualCluster }) {
  const phase = cluster.metadata.deletionTimestamp == null ? (cluster.status?.phase ?? "Pending") : "Deleting";
  return <Badge tone={TONES[phase] ?? "info"}>{named("cluster.phase", phase)}</Badge>;
}
