// The source of the connection to a cluster whose agent has opened a tunnel. The agent adds the credential: none is known here.

import type { Dial } from "../../../foundation/upstream/upstream-dialer.ts";
import { type ClusterConnection, type ClusterConnectionDeps, createClusterConnection } from "./cluster-connection.ts";
import type { ClusterSource } from "./cluster-source.ts";

/** The name of the API server inside each cluster. It is in no request line: the agent knows one server alone. */
const API_SERVER = "http://kubernetes.default.svc";

export type TunnelConnections = Disposable & {
  /** The one connection of a cluster, by its uid. Its sockets end with their tunnels. `namespace`: of a virtual cluster. */
  connectionOf(uid: string, namespace?: string): ClusterConnection;
  /** Closes requests in progress. */
  remove(uid: string): void;
};

export function createTunnelConnections(dialer: (uid: string) => Dial, deps: ClusterConnectionDeps): TunnelConnections {
  const connections = new Map<string, ClusterConnection>();
  return {
    connectionOf(uid, namespace) {
      const known = connections.get(uid);
      if (known !== undefined) return known;
      const own = { ...deps, dial: dialer(uid), namespace };
      const made = createClusterConnection({ server: API_SERVER, credential: {} }, own);
      connections.set(uid, made);
      return made;
    },
    remove(uid) {
      connections.get(uid)?.[Symbol.dispose]();
      connections.delete(uid);
    },
    [Symbol.dispose]() {
      for (const connection of connections.values()) connection[Symbol.dispose]();
      connections.clear();
    },
  };
}

/** `check` throws ApiErrors where the Cluster is gone, or no agent is to connect any more. */
export const createTunnelSource = (
  connections: TunnelConnections,
  { uid, namespace }: { readonly uid: string; readonly namespace?: string },
  check: () => void,
): ClusterSource => {
  const current = (): ClusterConnection => {
    check();
    return connections.connectionOf(uid, namespace);
  };
  return { current, connect: current, assertReached: check, invalidate() {} };
};
