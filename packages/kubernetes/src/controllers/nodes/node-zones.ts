// The zones of Nodes, and when one that is not ready may get its taint `NoExecute`: one after the other in each zone, and none while no Node is ready.
// Source: k8s.io/kubernetes/pkg/controller/nodelifecycle/node_lifecycle_controller.go (handleDisruption, ComputeZoneState, setLimiterInZone)

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { Clock } from "@postern/apiserver/runtime/clock";

type Labels = { readonly [name: string]: string };
type Zone = {
  /** Nodes, with those that are not counted. */
  members: number;
  ready: number;
  notReady: number;
  takenAt: number;
  /** Keys of Nodes that have no taint yet, in their order. Only the first looks at the time. */
  readonly waiting: Set<string>;
};
type Place = {
  readonly zone: string;
  readonly isReady: boolean;
  readonly isCounted: boolean;
  /** It has a taint that it gets when it is not ready. */
  readonly isTainted: boolean;
};

/** A Node as zones see it. */
export type ZonedNode = { readonly labels: Labels; readonly isReady: boolean; readonly isTainted: boolean };

/** `--node-eviction-rate`, `--secondary-node-eviction-rate`. */
export const TAINT_EVERY_MS = 10_000;
const TAINT_RARELY_EVERY_MS = 100_000;
/** `--unhealthy-zone-threshold`. */
const UNHEALTHY_PART = 0.55;
/** `--large-cluster-size-threshold`. */
const LARGE_ZONE = 50;

const EXCLUDED = "node.kubernetes.io/exclude-disruption";

function zoneOf(labels: Labels): string {
  const labelOf = (name: string): string =>
    labels[`failure-domain.beta.kubernetes.io/${name}`] ?? labels[`topology.kubernetes.io/${name}`] ?? "";
  return `${labelOf("region")}:${labelOf("zone")}`;
}

/** Milliseconds between two Nodes of the zone; undefined for none at all. */
function periodOf({ ready, notReady }: Zone): number | undefined {
  const all = ready + notReady;
  const isPartly = ready > 0 && notReady > 2 && notReady / all >= UNHEALTHY_PART;
  if (!isPartly) return TAINT_EVERY_MS;
  return all > LARGE_ZONE ? TAINT_RARELY_EVERY_MS : undefined;
}

/** Methods take the key of a Node. */
export class NodeZones {
  readonly #clock: Pick<Clock, "elapsed">;
  readonly #changed: (key: string) => void;
  readonly #places = new Map<string, Place>();
  readonly #zones = new Map<string, Zone>();
  readonly #clearing = new Set<string>();
  #ready = 0;
  #isStarted = false;
  #isStopped = false;

  /** Calls back for each Node that may get its taint now, or has to lose it. */
  constructor(clock: Pick<Clock, "elapsed">, changed: (key: string) => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /** All Nodes are known: from now on it matters whether one is ready. */
  start(): void {
    this.#isStarted = true;
    this.#settle();
  }

  set(key: string, { labels, isReady, isTainted }: ZonedNode): void {
    const before = this.#places.get(key);
    const place: Place = { zone: zoneOf(labels), isReady, isTainted, isCounted: labels[EXCLUDED] === undefined };
    if (before !== undefined && equalJson(before, place)) return;
    if (before !== undefined) this.#leave(key, before, place);
    this.#places.set(key, place);
    const zone = this.#zones.get(place.zone) ?? newZone();
    this.#zones.set(place.zone, zone);
    this.#count(zone, place, 1);
    this.#settle();
  }

  forget(key: string): void {
    const place = this.#places.get(key);
    if (place !== undefined) this.#leave(key, place, undefined);
    this.#places.delete(key);
    this.#clearing.delete(key);
    this.#settle();
  }

  /** Forgets all others. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#places.keys()) if (!keys.has(key)) this.forget(key);
  }

  /** The Node loses its taint once, whatever its state. */
  clear(key: string): void {
    this.#clearing.add(key);
  }

  isClearing(key: string): boolean {
    return this.#clearing.has(key);
  }

  /** It has lost its taint. */
  endClearing(key: string): void {
    this.#clearing.delete(key);
  }

  /** Milliseconds until the Node may get its taint; undefined where it has to wait for other Nodes. */
  delayMs(key: string): number | undefined {
    const zone = this.#zoneOf(key);
    if (zone === undefined) return undefined;
    zone.waiting.add(key);
    const [first] = zone.waiting;
    const period = periodOf(zone);
    if (this.#isStopped || period === undefined || first !== key) return undefined;
    return Math.max(0, zone.takenAt + period - this.#clock.elapsed());
  }

  /** The Node gets its taint now. */
  take(key: string): void {
    const zone = this.#zoneOf(key);
    if (zone === undefined) return;
    zone.takenAt = this.#clock.elapsed();
    this.#stopWaiting(key, zone);
  }

  /** The Node needs no taint, or has it. */
  stopWaiting(key: string): void {
    const zone = this.#zoneOf(key);
    if (zone !== undefined) this.#stopWaiting(key, zone);
  }

  readonly #zoneOf = (key: string): Zone | undefined => this.#zones.get(this.#places.get(key)?.zone ?? "");

  #stopWaiting(key: string, zone: Zone): void {
    const [first] = zone.waiting;
    zone.waiting.delete(key);
    if (first === key) this.#wakeFirst(zone);
  }

  /** Nodes that were not heard of for the same reason have time to write. */
  #beginAnew(zone: Zone): void {
    zone.takenAt = this.#clock.elapsed();
    this.#wakeFirst(zone);
  }

  #wakeFirst({ waiting }: Zone): void {
    const [first] = waiting;
    if (first !== undefined) this.#changed(first);
  }

  #leave(key: string, place: Place, next: Place | undefined): void {
    const zone = this.#zones.get(place.zone);
    if (zone === undefined) return;
    this.#count(zone, place, -1);
    if (next?.zone === place.zone) return;
    this.#stopWaiting(key, zone);
    if (zone.members === 0) this.#zones.delete(place.zone);
  }

  #count(zone: Zone, { isReady, isCounted }: Place, amount: number): void {
    zone.members += amount;
    if (!isCounted) return;
    const before = periodOf(zone);
    zone[isReady ? "ready" : "notReady"] += amount;
    if (isReady) this.#ready += amount;
    const period = periodOf(zone);
    if (period === undefined || period === before) return;
    if (before === undefined) this.#beginAnew(zone);
    else this.#wakeFirst(zone);
  }

  #settle(): void {
    const isStopped = this.#ready === 0;
    if (!this.#isStarted || isStopped === this.#isStopped) return;
    this.#isStopped = isStopped;
    if (!isStopped) for (const zone of this.#zones.values()) this.#beginAnew(zone);
    else
      for (const [key, { isTainted }] of this.#places) {
        if (!isTainted) continue;
        this.#clearing.add(key);
        this.#changed(key);
      }
  }
}

const newZone = (): Zone => ({
  members: 0,
  ready: 0,
  notReady: 0,
  takenAt: Number.NEGATIVE_INFINITY,
  waiting: new Set(),
});
