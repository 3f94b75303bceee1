// DaemonSets: keep a pod on each Node that fits, and replace them when their template changes.
// Source: k8s.io/kubernetes/pkg/controller/daemon/{daemon_controller,update}.go

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { isBeingDeleted } from "@postern/apimachinery/meta/object-meta";
import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { createTurns } from "@postern/apiserver/runtime/in-slices";
import { createClaims } from "../claims.ts";
import { createCreationBackoff } from "../creation-backoff.ts";
import { followOwners, type OwnedObjects } from "../owned-objects.ts";
import { createPods, deletePods, refusal, withDerivedName } from "../pod-control.ts";
import { availableIn } from "../pod-state.ts";
import { readStored } from "../read-stored.ts";
import { createRevisions, type Revision } from "../revisions.ts";
import { REVISION_LABEL } from "../stateful-sets/stateful-set.ts";
import { actingAs, eventsBy, retryLater, type WorkloadPort } from "../workload-port.ts";
import { statusMembers, writeStatus } from "../write-status.ts";
import { type DaemonPod, type DaemonSet, daemonPod, daemonPodOf, isRolling, updatedTest } from "./daemon-set.ts";
import { type DaemonState, oldestOf, planPods, planRollout } from "./daemon-set-plan.ts";
import { followNodes } from "./followed-nodes.ts";
import { createNodeRules, type NodeFit } from "./node-rule.ts";

const COUNTS = ["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"];

export function createDaemonSetController(base: WorkloadPort, ownedRevisions: OwnedObjects): Controller {
  const port = actingAs(base, "daemon-set-controller");
  const { clock, scheduler } = port.runtime;
  const sets = port.resource("apps", "DaemonSet");
  const says = eventsBy(port.recorder("daemonset-controller"));
  const revisions = createRevisions(port, ownedRevisions, REVISION_LABEL);
  const ruleOf = createNodeRules(port);
  const backoff = createCreationBackoff(clock);
  /** Pods that failed on a Node are replaced later and later. */
  const failures = createCreationBackoff(clock);
  const pause = createTurns(clock);
  const queue = new WorkQueue(port, { name: "daemonset", process });
  const nodeQueue = new WorkQueue(port, { name: "daemonset_nodes", process: processNode, concurrency: 1 });
  const onOwner = (key: string): void => queue.add(key);
  const claims = createClaims(port, { name: "daemonset_claims", owners: sets, dependents: port.pods, onOwner });
  const revisionClaims = createClaims(port, {
    name: "daemonset_revisions",
    owners: sets,
    dependents: ownedRevisions,
    onOwner,
  });
  const nodes = followNodes(port.resource("", "Node"), scheduler, {
    changed: (name) => nodeQueue.add(name),
    replaced() {
      for (const { key } of sets.view.list(sets.keys.prefix)) queue.add(key);
    },
  });

  /** Runs the DaemonSets for which the change of a Node makes a difference. */
  async function processNode(name: string, signal: AbortSignal): Promise<void> {
    const delay = port.looks.delayMs();
    if (delay > 0) return retryLater(nodeQueue, name, delay);
    const change = nodes.takeChange(name);
    if (change === null) return;
    const now = nodes.get(name);
    for (const set of sets.view.list(sets.keys.prefix)) {
      await pause();
      if (signal.aborted) return;
      const rule = ruleOf(set);
      if (rule.fit(change.before) !== rule.fit(now)) queue.add(set.key);
    }
  }

  async function process(key: string, signal: AbortSignal): Promise<void> {
    await port.pods.scanned();
    await ownedRevisions.scanned();
    await nodes.scanned();
    const busy = port.looks.delayMs();
    if (busy > 0) return retryLater(queue, key, busy);
    const set = readStored<DaemonSet>(port, sets, key);
    if (set === undefined || isBeingDeleted(set)) return;
    await revisionClaims.claim(set, signal);
    const known = await revisions.of(set);
    const revision = await revisionOf(key, set, known, signal);
    if (revision === undefined) return;
    await claims.claim(set, signal);
    const fits = await fitsOf(key);
    const state = await stateOf(set, fits, hashOf(revision));
    const isDone = await act(key, state, hashOf(revision), signal);
    if (signal.aborted) return;
    if (isDone) await cleanUp(set, known, revision, signal);
    // Memory has the pods that have just been written.
    await record(key, await stateOf(set, fits, hashOf(revision)), signal);
  }

  /** Undefined where it is refused. */
  async function revisionOf(
    key: string,
    set: DaemonSet,
    known: readonly Revision[],
    signal: AbortSignal,
  ): Promise<Revision | undefined> {
    const { uid = "", generation = 0 } = set.metadata;
    const id = `${uid}/revision`;
    const delay = backoff.delayMs(id, generation);
    if (delay > 0) {
      retryLater(queue, key, delay);
      return undefined;
    }
    try {
      const revision = await revisions.ensure(set, set.spec.template, known, signal);
      backoff.succeeded(id);
      return revision;
    } catch (error) {
      refusal(error);
      backoff.failed(id, generation);
      // The name is that of another object: with the next count, the hash is another.
      if (isApiError(error, "AlreadyExists")) {
        const status = { ...set.status, collisionCount: (set.status?.collisionCount ?? 0) + 1 };
        await writeStatus(port, sets, set, status, signal);
      }
      retryLater(queue, key, backoff.delayMs(id, generation));
      return undefined;
    }
  }

  const hashOf = ({ metadata: { namespace = "", name = "" } }: Revision): string => {
    const { view, keys } = ownedRevisions.resource;
    return view.get(keys.of(namespace, name))?.labels[REVISION_LABEL] ?? name;
  };

  async function fitsOf(key: string): Promise<ReadonlyMap<string, NodeFit>> {
    const fits = new Map<string, NodeFit>();
    const object = sets.view.get(key);
    if (object === undefined) return fits;
    const { fit } = ruleOf(object);
    for (const node of nodes.all()) {
      fits.set(node.name, fit(node));
      await pause();
    }
    return fits;
  }

  async function stateOf(set: DaemonSet, fits: ReadonlyMap<string, NodeFit>, hash: string): Promise<DaemonState> {
    const pods = new Map<string, DaemonPod[]>();
    let count = 0;
    for (const object of port.pods.of(set.metadata.uid ?? "")) {
      await pause();
      count++;
      const pod = daemonPodOf(object);
      if (pod === undefined || (pod.isDeleted && hasEnded(pod))) continue;
      const there = pods.get(pod.node);
      if (there === undefined) pods.set(pod.node, [pod]);
      else there.push(pod);
    }
    port.looks.spend(count);
    return { set, fits, pods, isUpdated: updatedTest(set, hash), now: clock.now(), pause };
  }

  /** Returns whether no creation was refused. */
  async function act(key: string, state: DaemonState, hash: string, signal: AbortSignal): Promise<boolean> {
    const { set } = state;
    const isHeld = (pod: DaemonPod): boolean => {
      const delay = pod.phase === "Failed" ? failures.delayMs(failureId(set, pod), observedOf(set)) : 0;
      if (delay > 0) retryLater(queue, key, delay);
      return delay > 0;
    };
    let plan = await planPods(state, isHeld);
    const isInPlace = plan.created.length === 0 && plan.deleted.length === 0;
    if (isInPlace && isRolling(set)) plan = await planRollout(state);
    const isAccepted = await create(key, set, hash, plan.created, signal);
    const count = await deletePods(port, set, plan.deleted, says, signal);
    if (count < plan.deleted.length) retryLater(queue, key, port.writes.turnMs());
    for (const pod of plan.deleted.slice(0, count))
      if (hasEnded(pod) && state.fits.get(pod.node) !== "leave") reportEnded(set, pod);
    return isAccepted;
  }

  /** Returns whether none was refused. */
  async function create(
    key: string,
    set: DaemonSet,
    hash: string,
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<boolean> {
    if (names.length === 0) return true;
    const { uid = "", generation = 0 } = set.metadata;
    const delay = backoff.delayMs(uid, generation);
    if (delay > 0) {
      retryLater(queue, key, delay);
      return false;
    }
    const podAt = (at: number, attempt: number) => {
      const node = names[at] ?? "";
      return withDerivedName(set, daemonPod(set, hash, node), node, attempt);
    };
    const made = await createPods(port, set, names.length, podAt, says, signal);
    if (made.error !== undefined) {
      backoff.failed(uid, generation);
      retryLater(queue, key, backoff.delayMs(uid, generation));
      return false;
    }
    backoff.succeeded(uid);
    if (made.count < names.length) retryLater(queue, key, port.writes.turnMs());
    return true;
  }

  function reportEnded(set: DaemonSet, pod: DaemonPod): void {
    const found = `daemon pod ${set.metadata.namespace}/${pod.name} on node ${pod.node}, will try to`;
    if (pod.phase === "Failed") {
      failures.failed(failureId(set, pod), observedOf(set));
      says(set, "Warning", "FailedDaemonPod", `Found failed ${found} kill it`);
    } else says(set, "Normal", "SucceededDaemonPod", `Found succeeded ${found} delete it`);
  }

  /** As upstream, revisions in use count as well; they stay. */
  async function cleanUp(
    { metadata, spec }: DaemonSet,
    known: readonly Revision[],
    current: Revision,
    signal: AbortSignal,
  ): Promise<void> {
    const limit = spec.revisionHistoryLimit ?? 10;
    if (known.length <= limit) return;
    const hashes = new Set<string>();
    for (const { labels } of port.pods.of(metadata.uid ?? "")) {
      await pause();
      hashes.add(labels[REVISION_LABEL] ?? "");
    }
    const old = known.filter((each) => each.metadata.name !== current.metadata.name);
    const used = old.filter((each) => hashes.has(hashOf(each)));
    const names = new Set(used.map((each) => each.metadata.name ?? ""));
    await revisions.cleanUp(old, names, Math.max(0, limit - used.length), signal);
  }

  async function record(key: string, state: DaemonState, signal: AbortSignal): Promise<void> {
    const { set, fits, pods, isUpdated, now } = state;
    const count = { desired: 0, current: 0, misscheduled: 0, ready: 0, updated: 0, available: 0 };
    let recheckMs: number | undefined;
    for (const [node, fit] of fits) {
      await pause();
      const pod = oldestOf(pods.get(node) ?? []);
      if (fit === "run") count.desired++;
      if (pod === undefined) continue;
      if (fit !== "run") {
        count.misscheduled++;
        continue;
      }
      count.current++;
      const wait = availableIn(pod, set.spec.minReadySeconds ?? 0, now);
      if (wait !== undefined) count.ready++;
      if (wait === 0) count.available++;
      if (isUpdated(pod)) count.updated++;
    }
    for (const there of pods.values())
      for (const pod of there) {
        const wait = availableIn(pod, set.spec.minReadySeconds ?? 0, now) ?? 0;
        if (wait > 0) recheckMs = Math.min(wait, recheckMs ?? wait);
      }
    // Nothing here writes conditions: those that a client has written stay.
    const { collisionCount, conditions } = set.status ?? {};
    const members = {
      currentNumberScheduled: count.current,
      numberMisscheduled: count.misscheduled,
      desiredNumberScheduled: count.desired,
      numberReady: count.ready,
      observedGeneration: set.metadata.generation ?? 0,
      updatedNumberScheduled: count.updated,
      numberAvailable: count.available,
      numberUnavailable: count.desired - count.available,
      collisionCount,
      conditions,
    };
    await writeStatus(port, sets, set, statusMembers(members, COUNTS), signal);
    if (recheckMs !== undefined) retryLater(queue, key, recheckMs);
  }

  return createQueueController(filledQueue(claims, filledQueue(revisionClaims, filledQueue(nodeQueue, queue))), [
    nodes,
    followOwners(port.pods, "DaemonSet", sets, onOwner),
    followKeys(sets, scheduler, onOwner),
  ]);
}

const failureId = ({ metadata }: DaemonSet, { node }: DaemonPod): string => `${metadata.uid}/${node}`;
const observedOf = ({ status }: DaemonSet): number => status?.observedGeneration ?? 0;
const hasEnded = ({ phase }: DaemonPod): boolean => phase === "Failed" || phase === "Succeeded";
