// The tunnels of this server, by the uid of their Cluster, and the dialer that opens connections through them.

import { ChangeListeners } from "@postern/apiserver/runtime/change-listeners";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { createTally } from "../../foundation/upstream/tally.ts";
import type { Dial } from "../../foundation/upstream/upstream-dialer.ts";
import { ConnectTimeoutError, unreachableError } from "../../foundation/upstream/upstream-failure.ts";
import type { Tunnel } from "./tunnel.ts";

export type TunnelRegistry = Disposable & {
  /** A place for a tunnel, until it is disposed; why there is none otherwise. `namespace`: of a virtual cluster. */
  claim(uid: string, namespace?: string): Disposable | string;
  /** Adds a tunnel of an agent. Ends with the tunnel, or when disposed. */
  add(uid: string, tunnel: Tunnel): Disposable;
  /** Those that can be used. */
  of(uid: string): readonly Tunnel[];
  /** For the connections of a cluster; it fails with an ApiError 503 where no tunnel is open. */
  dialer(uid: string): Dial;
  /** Remembers why the last agent was turned away although its key is good; undefined forgets it. */
  refuse(uid: string, why: string | undefined): void;
  refusedBy(uid: string): string | undefined;
  /** Closes all tunnels of a cluster. */
  close(uid: string): void;
  /** Calls back with the uid of a Cluster whose tunnels have changed. */
  onChange(listener: (uid: string) => void): Disposable;
  /** Says that a tunnel of the Cluster is not usable any more. */
  changed(uid: string): void;
  /** Clusters with a tunnel, and those that are to have one. */
  counts(): { readonly connected: number; readonly expected: number };
  /** All that are open, in no order. */
  all(): Iterable<Tunnel>;
};

/** Two replicas with two connections each, twice while they are replaced, and room. */
const MAX_TUNNELS_OF_CLUSTER = 16;
/** The virtual clusters of one project, whose administrators run the agents. */
const MAX_TUNNELS_OF_NAMESPACE = 128;
/** Opening a stream takes one round trip. */
const OPEN_TIMEOUT_MS = 10_000;

export const AGENT_NOT_CONNECTED = {
  reason: "AgentNotConnected",
  message: "its agent is not connected to this server",
};

/** `expected`: the uids of the Clusters that agents are to connect. */
export function createTunnelRegistry(scheduler: Scheduler, expected: () => readonly string[]): TunnelRegistry {
  const tunnels = new Map<string, Set<Tunnel>>();
  const refused = new Map<string, string>();
  /** By uid and by namespace: a uid is the name of no namespace of a project. */
  const places = createTally();
  const listeners = new ChangeListeners<[uid: string]>();

  const usable = (uid: string): Tunnel[] => [...(tunnels.get(uid) ?? [])].filter(({ isUsable }) => isUsable);
  /** The one with the fewest streams. */
  const choose = (uid: string): Tunnel | undefined =>
    usable(uid).reduce<Tunnel | undefined>(
      (best, each) => (best === undefined || each.streams < best.streams ? each : best),
      undefined,
    );

  function* all(): Generator<Tunnel> {
    for (const of of tunnels.values()) yield* of;
  }

  return {
    claim(uid, namespace) {
      if (places.of(uid) >= MAX_TUNNELS_OF_CLUSTER) return `the cluster has ${MAX_TUNNELS_OF_CLUSTER} tunnels already`;
      if (namespace !== undefined && places.of(namespace) >= MAX_TUNNELS_OF_NAMESPACE)
        return `the virtual clusters of namespace ${namespace} have ${MAX_TUNNELS_OF_NAMESPACE} tunnels already`;
      return places.count(uid, namespace);
    },
    add(uid, tunnel) {
      const of = tunnels.get(uid) ?? new Set();
      tunnels.set(uid, of.add(tunnel));
      const remove = (): void => {
        if (!of.delete(tunnel)) return;
        if (of.size === 0) tunnels.delete(uid);
        listeners.call(uid);
      };
      void tunnel.closed.then(remove);
      listeners.call(uid);
      return { [Symbol.dispose]: remove };
    },
    of: usable,
    dialer: (uid) => (callback) => {
      const tunnel = choose(uid);
      if (tunnel === undefined) throw unreachableError(AGENT_NOT_CONNECTED);
      let timer: Disposable | undefined;
      const opening = tunnel.open((...result) => {
        timer?.[Symbol.dispose]();
        callback(...result);
      });
      timer = scheduler.schedule(OPEN_TIMEOUT_MS, () => opening.cancel(new ConnectTimeoutError()));
      return { destroy: () => opening.cancel(new Error("the connection is not wanted")) };
    },
    refuse(uid, why) {
      if (why === undefined) refused.delete(uid);
      else refused.set(uid, why);
      listeners.call(uid);
    },
    refusedBy: (uid) => refused.get(uid),
    close(uid) {
      refused.delete(uid);
      for (const tunnel of [...(tunnels.get(uid) ?? [])]) tunnel[Symbol.dispose]();
    },
    onChange: (listener) => listeners.add(listener),
    changed: (uid) => listeners.call(uid),
    counts() {
      const uids = expected();
      return { connected: uids.filter((uid) => usable(uid).length > 0).length, expected: uids.length };
    },
    all,
    [Symbol.dispose]() {
      for (const tunnel of [...all()]) tunnel[Symbol.dispose]();
    },
  };
}
