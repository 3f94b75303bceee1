// When a Node was last heard of, and its conditions once it is not heard of any more.
// Source: k8s.io/kubernetes/pkg/controller/nodelifecycle/node_lifecycle_controller.go (tryUpdateNodeHealth), cmd/kube-controller-manager's defaults

import { formatTimestamp, parseTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { Node } from "../../builtin/workloads/nodes.ts";

type Condition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number];

/** `--node-startup-grace-period`: for a Node without a condition `Ready`. */
export const STARTUP_GRACE_MS = 60_000;
/** `--node-monitor-grace-period`. */
export const MONITOR_GRACE_MS = 50_000;

export const readyOf = ({ status }: Node): Condition | undefined =>
  status?.conditions?.find(({ type }) => type === "Ready");

/** By the clock's `elapsed`. */
type Heard = { readonly ready: string | undefined; readonly at: number };

/** Heartbeats of Nodes, by key. They are kept in memory alone: after a restart, each Node has its grace period again. */
export class NodeHealth {
  readonly #clock: Clock;
  readonly #heard = new Map<string, Heard>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Milliseconds until the Node counts as lost, 0 or less when it does; undefined when it has been found lost already. A change of its condition
   * `Ready` is a heartbeat.
   */
  left(key: string, node: Node, hasLease: boolean): number | undefined {
    const condition = readyOf(node);
    const ready = textOf(condition);
    const known = this.#heard.get(key);
    const now = this.#clock.elapsed();
    const isNew = known === undefined && ready === undefined && !hasLease;
    const at =
      known !== undefined && known.ready === ready ? known.at : isNew ? now - ageOf(node, this.#clock.now()) : now;
    this.#heard.set(key, { ready, at });
    if (condition?.status === "Unknown") return undefined;
    return at + (condition === undefined ? STARTUP_GRACE_MS : MONITOR_GRACE_MS) - now;
  }

  /** A renewed Lease is a heartbeat. */
  renew(key: string): void {
    const known = this.#heard.get(key);
    if (known !== undefined) this.#heard.set(key, { ...known, at: this.#clock.elapsed() });
  }

  forget(key: string): void {
    this.#heard.delete(key);
  }

  /** Forgets all others. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#heard.keys()) if (!keys.has(key)) this.forget(key);
  }
}

const ageOf = ({ metadata }: Node, now: number): number =>
  Math.max(0, now - (parseTimestamp(metadata.creationTimestamp ?? "") ?? now));

/** Characters kept in memory of texts that clients write. */
const MOST_TEXT = 100;

const textOf = (ready: Condition | undefined): string | undefined =>
  ready === undefined
    ? undefined
    : `${ready.lastHeartbeatTime} ${ready.lastTransitionTime} ${ready.status}`.slice(0, MOST_TEXT);

/** True where both have heard the same of the Node. */
export const isHeardAlike = (a: Node, b: Node): boolean => textOf(readyOf(a)) === textOf(readyOf(b));

const KUBELET_CONDITIONS = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/** Why the conditions of a Node that was heard of are unknown. */
export const LOST = { reason: "NodeStatusUnknown", message: "Kubelet stopped posting node status." } as const;

/** All that a kubelet says is unknown. `now` in milliseconds since the Unix epoch. */
export function asLost(node: Node, now: number): Node {
  const lastTransitionTime = formatTimestamp(now);
  const conditions = node.status?.conditions ?? [];
  const changed = conditions.map((condition) =>
    KUBELET_CONDITIONS.includes(condition.type) && condition.status !== "Unknown"
      ? {
          ...condition,
          status: "Unknown",
          lastTransitionTime,
          ...LOST,
        }
      : condition,
  );
  const added = KUBELET_CONDITIONS.filter((each) => !conditions.some(({ type }) => type === each)).map((type) => ({
    type,
    status: "Unknown",
    lastHeartbeatTime: node.metadata.creationTimestamp ?? lastTransitionTime,
    lastTransitionTime,
    reason: "NodeStatusNeverUpdated",
    message: "Kubelet never posted node status.",
  }));
  return { ...node, status: { ...node.status, conditions: [...changed, ...added] } };
}
