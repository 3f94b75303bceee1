// The source of the connection to a cluster whose agent has opened a tunnel. The agent adds the credential: none is known here.

import type { Condition } from "@postern/api/conditions";
import { soonReachableError } from "../../../foundation/upstream/upstream-failure.ts";
import { AGENT_NOT_CONNECTED, type TunnelRegistry } from "../../cluster-tunnels/tunnel-registry.ts";
import { type ClusterConnection, type ClusterConnectionDeps, createClusterConnection } from "./cluster-connection.ts";
import type { ClusterSource } from "./cluster-source.ts";

/** The name of the API server inside each cluster. It is in no request line: the agent knows one server alone. */
const API_SERVER = "http://kubernetes.default.svc";

export type TunnelConnections = Disposable & {
  /** The one connection of a cluster, by its uid. Its sockets end with their tunnels. `namespace`: of a virtual cluster. */
  connectionOf(uid: string, namespace?: string): ClusterConnection;
  /** Whether this server has a tunnel to it. */
  isOpen(uid: string): boolean;
  /** Closes requests in progress. */
  remove(uid: string): void;
};

export function createTunnelConnections(
  tunnels: Pick<TunnelRegistry, "dialer" | "of">,
  deps: ClusterConnectionDeps,
): TunnelConnections {
  const connections = new Map<string, ClusterConnection>();
  return {
    connectionOf(uid, namespace) {
      const known = connections.get(uid);
      if (known !== undefined) return known;
      const own = { ...deps, dial: tunnels.dialer(uid), namespace };
      const made = createClusterConnection({ server: API_SERVER, credential: {} }, own);
      connections.set(uid, made);
      return made;
    },
    isOpen: (uid) => tunnels.of(uid).length > 0,
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

/** The object as it is now. */
type Tunnelled = { readonly status?: { readonly conditions?: readonly Condition[] } };

/** `find` throws ApiErrors where the Cluster is gone, or no agent is to connect any more. */
export const createTunnelSource = (
  connections: TunnelConnections,
  { uid, namespace }: { readonly uid: string; readonly namespace?: string },
  find: () => Tunnelled,
): ClusterSource => {
  const current = (): ClusterConnection => {
    const { status } = find();
    // Another server has its tunnel, such as one that runs longer: the agent finds this one within seconds (ADR 247).
    if (!connections.isOpen(uid) && isConnected(status?.conditions)) throw soonReachableError(AGENT_NOT_CONNECTED);
    return connections.connectionOf(uid, namespace);
  };
  return { current, connect: current, assertReached: () => void find(), invalidate() {} };
};

const isConnected = (conditions: readonly Condition[] = []): boolean =>
  conditions.some(({ type, status }) => type === "Connected" && status === "True");
