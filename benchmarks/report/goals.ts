// The agreed goals of the comparison's rows on Node 24.

import type { Summary } from "./measurement.ts";

type Goal = {
  /** Microseconds above the bare server. */
  readonly above?: number;
  /** Multiple of kube-apiserver's rate. */
  readonly peer?: number;
  /** As a multiple of the bare server's processor time. */
  readonly bare?: number;
  readonly perSecond?: number;
  /** Milliseconds. */
  readonly p99?: number;
};

const GOALS: { readonly [store: string]: { readonly [work: string]: Goal } } = {
  sqlite: {
    "GET by name, HTTP/1.1, 32 connections": { above: 40, peer: 5 },
    "GET by name, HTTP/2, 32 streams": { above: 40, peer: 6 },
    "LIST 500 by limit": { bare: 1.3, peer: 9 },
    "LIST all": { bare: 1.2, peer: 20 },
    "LIST by label, 1 in 100": { peer: 10 },
    "CREATE, durable, 64 at once": { above: 120, peer: 5, p99: 30 },
    "CREATE, durable, one at a time": { peer: 2 },
    "PATCH (merge), 32 at once": { above: 120, peer: 6 },
    "Kubeconfig with a certificate": { perSecond: 1_500 },
  },
  etcd: {
    "CREATE, durable, 64 at once": { peer: 2 },
    "CREATE, durable, one at a time": { peer: 1 },
    "PATCH (merge), 32 at once": { peer: 2.5 },
  },
};

/** Only compared with the committed ratio by the nightly gate, without a goal. */
export const WITHOUT_GOAL: readonly string[] = [
  "GET by name, HTTP/2, 1 stream",
  "GET by name, HTTP/2, 4 streams",
  "Kubeconfig with a token",
  "Token review",
  "ConfigMap GET, embedded cluster",
  "ConfigMap GET, remote cluster",
  "ConfigMap CREATE, embedded cluster",
];

export const STORES_WITH_GOALS: readonly string[] = Object.keys(GOALS);

export const worksWithGoals = (store: string): readonly string[] => Object.keys(GOALS[store] ?? {});

type Measured = {
  readonly own: Summary | undefined;
  readonly bare: number | undefined;
  readonly timesPeer: number | undefined;
};

/** The goal, and by how much each part is missed: `≤ 40 µs above (missed: 84)`. Empty without a goal. */
export function textOfGoal(store: string, work: string, { own, bare, timesPeer }: Measured): string {
  const goal = GOALS[store]?.[work] ?? {};
  const cpu = own?.cpuMicroseconds ?? Number.NaN;
  const least = (name: string, wanted: number | undefined, is: number | undefined): readonly string[] =>
    wanted === undefined ? [] : [`≥ ${wanted} ${name}${missed((is ?? Number.NaN) >= wanted, is)}`];
  const most = (name: string, wanted: number | undefined, is = Number.NaN): readonly string[] =>
    wanted === undefined ? [] : [`≤ ${wanted} ${name}${missed(is <= wanted, is)}`];
  return [
    ...most("µs above", goal.above, cpu - (bare ?? Number.NaN)),
    ...most("× bare", goal.bare, cpu / (bare ?? Number.NaN)),
    ...least("× peer", goal.peer, timesPeer),
    ...least("/s", goal.perSecond, own?.perSecond),
    ...most("ms p99", goal.p99, own?.p99),
  ].join(", ");
}

function missed(isMet: boolean, is: number | undefined): string {
  if (isMet) return " (met)";
  return is === undefined || Number.isNaN(is) ? " (?)" : ` (missed: ${is < 100 ? is.toFixed(1) : is.toFixed(0)})`;
}
