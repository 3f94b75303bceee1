// The connections to all clusters that are reached by a kubeconfig: one for each, replaced when its kubeconfig changes.

import { type ClusterConnection, type ClusterConnectionDeps, createClusterConnection } from "./cluster-connection.ts";
import { targetOfKubeconfig } from "./kubeconfig-target.ts";

export type ClusterConnections = Disposable & {
  /**
   * The connection of the cluster that `key` names. Under another kubeconfig than before it is a new one: what lasts on the old
   * one is cut, since that was opened with what is not good any more, and all else comes to its end. Throws ApiError 502 for a kubeconfig that cannot be used.
   */
  connectionOf(key: string, kubeConfig: string, loopbackServer?: string): ClusterConnection;
  /** Undefined when it has not been asked for yet. */
  known(key: string): ClusterConnection | undefined;
  /** Closes requests in progress: the cluster is not connected any more. */
  remove(key: string): void;
};

type Entry = { readonly kubeConfig: string; readonly loopbackServer: string; readonly connection: ClusterConnection };

export function createClusterConnections(deps: ClusterConnectionDeps): ClusterConnections {
  const entries = new Map<string, Entry>();

  return {
    connectionOf(key, kubeConfig, loopbackServer = "") {
      const known = entries.get(key);
      if (known?.kubeConfig === kubeConfig && known.loopbackServer === loopbackServer) return known.connection;
      const target = targetOfKubeconfig(kubeConfig, loopbackServer === "" ? undefined : loopbackServer);
      const connection = createClusterConnection(target, deps);
      entries.set(key, { kubeConfig, loopbackServer, connection });
      known?.connection.retire();
      return connection;
    },
    known: (key) => entries.get(key)?.connection,
    remove(key) {
      entries.get(key)?.connection[Symbol.dispose]();
      entries.delete(key);
    },
    [Symbol.dispose]() {
      for (const { connection } of entries.values()) connection[Symbol.dispose]();
      entries.clear();
    },
  };
}
