// The annotation, labels and taints of a Node that its controller keeps.
// Source: k8s.io/kubernetes/pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass, reconcileNodeLabels), ttl/ttl_controller.go

import type { Node, Taint } from "../../builtin/workloads/nodes.ts";

const TTL = "node.alpha.kubernetes.io/ttl";

/** How long kubelets may keep Secrets and ConfigMaps, by the number of Nodes. Ranges overlap, so that a number at a limit does not change it to and fro. */
const TTLS = [
  { from: 0, to: 100, seconds: 0 },
  { from: 90, to: 500, seconds: 15 },
  { from: 450, to: 1_000, seconds: 30 },
  { from: 900, to: 2_000, seconds: 60 },
  { from: 1_800, to: Number.POSITIVE_INFINITY, seconds: 300 },
] as const;

/** Seconds for the number of Nodes there are now. Each call depends on those before it. */
export function createNodeTtl(): (count: number) => number {
  let row: (typeof TTLS)[number] = TTLS[0];
  return (count) => {
    const contains = ({ from, to }: (typeof TTLS)[number]): boolean => count >= from && count <= to;
    if (!contains(row)) row = TTLS.find(contains) ?? row;
    return row.seconds;
  };
}

/** Old names of labels, which follow the new ones. */
const FOLLOWING_LABELS = [
  ["kubernetes.io/os", "beta.kubernetes.io/os"],
  ["kubernetes.io/arch", "beta.kubernetes.io/arch"],
] as const;

const UNSCHEDULABLE = "node.kubernetes.io/unschedulable";
const NOT_READY = "node.kubernetes.io/not-ready";
const UNREACHABLE = "node.kubernetes.io/unreachable";

const CONDITION_TAINTS: readonly { readonly type: string; readonly status: string; readonly key: string }[] = [
  { type: "Ready", status: "False", key: NOT_READY },
  { type: "Ready", status: "Unknown", key: UNREACHABLE },
  { type: "MemoryPressure", status: "True", key: "node.kubernetes.io/memory-pressure" },
  { type: "DiskPressure", status: "True", key: "node.kubernetes.io/disk-pressure" },
  { type: "NetworkUnavailable", status: "True", key: "node.kubernetes.io/network-unavailable" },
  { type: "PIDPressure", status: "True", key: "node.kubernetes.io/pid-pressure" },
];

const EVICTING_TAINTS: ReadonlySet<string> = new Set([NOT_READY, UNREACHABLE]);

const isEvicting = ({ key, effect }: Taint): boolean => effect === "NoExecute" && EVICTING_TAINTS.has(key);

/** Whether the Node has a taint that evicts pods because it is not ready. */
export const hasEvictingTaint = ({ spec }: Node): boolean => (spec?.taints ?? []).some(isEvicting);

/**
 * The key of the taint `NoExecute` that a Node of this condition `Ready` gets, when its turn comes; null for none, undefined where a client has not said
 * yet whether it is ready.
 */
export function evictingTaintOf(ready: string | undefined): string | null | undefined {
  if (ready === undefined) return undefined;
  return ready === "True" ? null : ready === "False" ? NOT_READY : UNREACHABLE;
}

const KEPT_TAINTS: ReadonlySet<string> = new Set([UNSCHEDULABLE, ...CONDITION_TAINTS.map(({ key }) => key)]);

/**
 * The same object where nothing is to be changed. `evicting` is the key of the taint `NoExecute` that the Node is to have, null for none, undefined where
 * it keeps what it has. `now` is an RFC 3339 time.
 */
export function withMarks(node: Node, ttlSeconds: number, now: string, evicting?: string | null): Node {
  const { annotations, labels } = node.metadata;
  const ttl = String(ttlSeconds);
  const newLabels = labels === undefined ? undefined : withFollowing(labels);
  const taints = taintsOf(node, now, evicting);
  if (annotations?.[TTL] === ttl && newLabels === labels && taints === node.spec?.taints) return node;
  const { taints: _taints, ...spec } = node.spec ?? {};
  return {
    ...node,
    metadata: {
      ...node.metadata,
      annotations: { ...annotations, [TTL]: ttl },
      ...(newLabels === undefined ? {} : { labels: newLabels }),
    },
    spec: { ...spec, ...(taints === undefined || taints.length === 0 ? {} : { taints }) },
  };
}

type Labels = { readonly [name: string]: string };

function withFollowing(labels: Labels): Labels {
  const changed = FOLLOWING_LABELS.flatMap(([name, old]) => {
    const value = labels[name];
    return value === undefined || labels[old] === value ? [] : [[old, value] as const];
  });
  return changed.length === 0 ? labels : { ...labels, ...Object.fromEntries(changed) };
}

type TaintName = Pick<Taint, "key" | "effect">;

/** Taints of other effects and keys belong to clients. */
function taintsOf(
  { spec, status }: Node,
  now: string,
  evicting: string | null | undefined,
): readonly Taint[] | undefined {
  const textOf = ({ key, effect }: TaintName): string => `${effect} ${key}`;
  const wanted = new Map<string, TaintName>();
  const want = (key: string, effect: string): void => void wanted.set(textOf({ key, effect }), { key, effect });
  for (const condition of status?.conditions ?? [])
    for (const { type, status: holds, key } of CONDITION_TAINTS)
      if (condition.type === type && condition.status === holds) want(key, "NoSchedule");
  if (spec?.unschedulable === true) want(UNSCHEDULABLE, "NoSchedule");
  if (typeof evicting === "string") want(evicting, "NoExecute");
  const taints = spec?.taints ?? [];
  const isKept = (taint: Taint): boolean =>
    taint.effect === "NoSchedule" ? KEPT_TAINTS.has(taint.key) : evicting !== undefined && isEvicting(taint);
  const left = taints.filter((taint) => !isKept(taint) || wanted.has(textOf(taint)));
  for (const taint of left) wanted.delete(textOf(taint));
  if (left.length === taints.length && wanted.size === 0) return spec?.taints;
  return [...left, ...[...wanted.values()].map((taint) => ({ ...taint, timeAdded: now }))];
}
