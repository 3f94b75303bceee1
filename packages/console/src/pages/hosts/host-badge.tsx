// A badge with the state of a host cluster.

import type { Cluster } from "@postern/api/cluster";
import { Badge, type Tone } from "../../components/badge.tsx";
import { named } from "../../texts/text.tsx";

const TONES: { readonly [phase: string]: Tone } = { Initialized: "good", Failed: "bad" };

export function HostBadge({ cluster }: { readonly cluster: Cluster }) {
  const phase = cluster.status?.phase ?? "Pending";
  return <Badge tone={TONES[phase] ?? "info"}>{named("host.phase", phase)}</Badge>;
}
