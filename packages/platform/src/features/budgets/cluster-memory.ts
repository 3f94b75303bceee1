// The memory that all embedded clusters share. The largest project is refused first, and each cluster has a guaranteed minimum (ADR 155).

import { type StoredAmount, type StoredUsage, sumOf } from "@postern/apiserver/cache/stored-usage";
import type { ConversionMemory } from "@postern/apiserver/registry/store/converted-object-budget";
import { type Budget, insufficientStorageError, PendingWrites } from "./budgeted-storage.ts";
import type { AccountUsage } from "./management-budgets.ts";
import { RESIDENT_FACTOR, residentBytes } from "./memory-limit.ts";

export type ClusterMemory = Disposable & {
  readonly pending: PendingWrites;
  /** For writes to the cluster with this composition. */
  budgetOf(composition: string): Budget;
  /** Room for objects of the cluster with this composition that are kept in converted form. Defaults and webhooks of a tenant may make them large. */
  conversionMemoryOf(composition: string): ConversionMemory;
  /** Throws the ApiError 507 if there is no room for another cluster. */
  checkNewCluster(composition: string): void;
  readonly limitBytes: number;
  /** Includes the minimum of each cluster, and the objects kept in converted form. */
  readonly usedBytes: number;
};

export type ClusterUsage = {
  /** By the uid of the instance; undefined if nothing is stored for it here, as for connected clusters. */
  of(uid: string): AccountUsage | undefined;
  /** The part of its limit that the fullest cluster uses. */
  readonly fullest: number;
};

/** A running cluster without objects. */
const CLUSTER_BYTES = 320 << 10;
/** Always available to a cluster that exists. */
const MIN_BYTES = 640 << 10;
/** A project may have this many times as much as is left: one alone three quarters of everything. */
const SHARE_OF_FREE = 3;
/** One account: clusters take from each other. */
const ACCOUNT = "embedded clusters";

/** Memory of a running cluster that stores so much. */
export const costOfCluster = (amount: StoredAmount): number =>
  Math.max(CLUSTER_BYTES + residentBytes(amount), MIN_BYTES);

type Counted = { readonly project: string; readonly bytes: number };

export function createClusterMemory(deps: {
  readonly usage: Pick<StoredUsage, "of" | "compositions" | "onChange" | "onObject">;
  readonly limitBytes: number;
  /** Whether a composition is that of an embedded cluster. */
  readonly isCluster: (composition: string) => boolean;
  /** The project of the cluster; "" if it is not known. */
  readonly projectOf: (composition: string) => string;
  /** Called for each refusal. */
  readonly onRefused?: (() => void) | undefined;
}): ClusterMemory {
  const { usage, limitBytes, isCluster, projectOf, onRefused = () => {} } = deps;
  const clusters = new Map<string, Counted>();
  const projects = new Map<string, number>();
  /** Bytes that are kept as they are shown, by composition. */
  const shown = new Map<string, number>();
  const pending = new PendingWrites(usage);
  let usedBytes = 0;

  function count(composition: string, amount: StoredAmount): void {
    if (!isCluster(composition)) return;
    const known = clusters.get(composition);
    if (known !== undefined) addTo(projects, known.project, -known.bytes);
    usedBytes -= known?.bytes ?? 0;
    clusters.delete(composition);
    if (amount.objects <= 0) return;
    const counted = { project: projectOf(composition), bytes: costOfCluster(amount) };
    clusters.set(composition, counted);
    addTo(projects, counted.project, counted.bytes);
    usedBytes += counted.bytes;
  }

  const following = usage.onChange(count);
  for (const [composition, amount] of usage.compositions()) count(composition, amount);

  /** Throws if the project may not have `added` bytes more. */
  function checkProject(project: string, added: number, pendingBytes: number): void {
    const has = projects.get(project) ?? 0;
    const free = limitBytes - usedBytes - pendingBytes - added;
    const allowed = Math.max(0, Math.floor(SHARE_OF_FREE * free));
    if (has + added <= allowed) return;
    onRefused();
    throw insufficientStorageError(
      `the memory of this server for virtual clusters is full: they use ${mib(usedBytes)} of ${mib(limitBytes)}, those of this project ${mib(has)}, and it may have ${SHARE_OF_FREE} times as much as is free; delete objects or virtual clusters, or give the server more memory (--memory-limit-mib)`,
    );
  }

  return {
    pending,
    budgetOf: (composition) => ({
      account: ACCOUNT,
      check(growth, inProgress) {
        const amount = usage.of(composition);
        const before = clusters.get(composition);
        const after = costOfCluster(sumOf(amount, growth));
        if (after <= MIN_BYTES) return;
        // The uid of an instance may become known after its first objects.
        if (before !== undefined && before.project !== projectOf(composition)) count(composition, amount);
        const added = after - (before?.bytes ?? 0);
        checkProject(projectOf(composition), added, residentBytes(inProgress));
      },
    }),
    conversionMemoryOf: (composition) => ({
      take(length) {
        const bytes = length * RESIDENT_FACTOR;
        const has = shown.get(composition) ?? 0;
        // As much as is free: stored objects use the rest, so that reads do not block writes.
        if (has + bytes > limitBytes - usedBytes - residentBytes(pending.of(ACCOUNT)) - bytes) return undefined;
        const project = projectOf(composition);
        const add = (change: number): void => {
          addTo(shown, composition, change);
          addTo(projects, project, change);
          usedBytes += change;
        };
        add(bytes);
        return () => add(-bytes);
      },
    }),
    checkNewCluster(composition) {
      if (clusters.has(composition)) return;
      checkProject(projectOf(composition), MIN_BYTES, residentBytes(pending.of(ACCOUNT)));
    },
    limitBytes,
    get usedBytes() {
      return usedBytes;
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

function addTo(sums: Map<string, number>, name: string, bytes: number): void {
  const sum = (sums.get(name) ?? 0) + bytes;
  // Sums of fractions end near zero.
  if (sum < 1) sums.delete(name);
  else sums.set(name, sum);
}

const mib = (bytes: number): string => `${(bytes / (1 << 20)).toFixed(1)} MiB`;
