// The Nodes of a cluster as DaemonSets see them: their labels and taints.

import { equalJson } from "@postern/apimachinery/json/equal-json";
import type { JsonValue } from "@postern/apimachinery/json/json-value";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { ControlledResource } from "@postern/apiserver/controllers/controller-port";
import { createScans } from "@postern/apiserver/controllers/scans";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import type { Taint } from "../../../builtin/workloads/nodes.ts";

export type NodeState = {
  readonly name: string;
  readonly labels: { readonly [name: string]: string };
  readonly taints: readonly Taint[];
};

export type FollowedNodes = Disposable & {
  get(name: string): NodeState | undefined;
  /** Nodes may come and go during the iteration. */
  all(): Iterable<NodeState>;
  /** The Node before its changes that have not been taken yet; null if there are none. */
  takeChange(name: string): { readonly before: NodeState | undefined } | null;
  /** Resolves when everything that was there has been seen. */
  scanned(): Promise<void>;
};

export type NodeChanges = {
  /** The labels or taints of a Node changed, or it came or went. Heartbeats are no changes. */
  changed(name: string): void;
  /** All may have changed. */
  replaced(): void;
};

const readNode = createMemberReader({ spec: { taints: true } });

export function followNodes(
  { view, keys }: ControlledResource,
  scheduler: Scheduler,
  { changed, replaced }: NodeChanges,
): FollowedNodes {
  const known = new Map<string, NodeState>();
  const changes = new Map<string, NodeState | undefined>();
  const scans = createScans();

  function stateOf(object: CachedObject): NodeState {
    // Stored objects have passed the schema of their kind.
    const { spec = {} } = object.read(readNode) as { readonly spec?: { readonly taints?: readonly Taint[] } };
    return { name: keys.parse(object.key).name, labels: object.labels, taints: spec.taints ?? [] };
  }
  function see(name: string, before: NodeState | undefined): void {
    if (!changes.has(name)) changes.set(name, before);
    changed(name);
  }
  const following = followView({ view, prefix: keys.prefix }, scheduler, {
    replace(objects) {
      known.clear();
      changes.clear();
      const look = (object: CachedObject): void => {
        // Later changes have arrived as changes.
        if (view.get(object.key) !== object) return;
        const state = stateOf(object);
        known.set(state.name, state);
      };
      const scan = async (): Promise<void> => {
        await inSlices(objects, look, scans.signal);
        if (!scans.signal.aborted) replaced();
      };
      scans.add(scan());
    },
    put(object) {
      const state = stateOf(object);
      const before = known.get(state.name);
      known.set(state.name, state);
      if (before === undefined || !isAlike(before, state)) see(state.name, before);
    },
    delete({ key }) {
      const { name } = keys.parse(key);
      const before = known.get(name);
      known.delete(name);
      see(name, before);
    },
  });
  return {
    get: (name) => known.get(name),
    all: () => known.values(),
    takeChange(name) {
      if (!changes.has(name)) return null;
      const before = changes.get(name);
      changes.delete(name);
      return { before };
    },
    scanned: () => scans.idle(),
    [Symbol.dispose]() {
      scans[Symbol.dispose]();
      following[Symbol.dispose]();
    },
  };
}

const isAlike = (a: NodeState, b: NodeState): boolean =>
  equalJson(a.labels, b.labels) && equalJson(a.taints as JsonValue, b.taints as JsonValue);
