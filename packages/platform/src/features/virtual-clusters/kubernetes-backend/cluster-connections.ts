// The connections to all clusters that are reached by a kubeconfig: one for each, replaced when its kubeconfig changes.

import { type ClusterConnection, type ClusterConnectionDeps, createClusterConnection } from "./cluster-connection.ts";
import { targetOfKubeconfig } from "./kubeconfig-target.ts";

export type ClusterOptions = {
  /** The namespace of the project that the cluster belongs to. Absent for a connected cluster. */
  readonly namespace?: string | undefined;
  /** The address if the kubeconfig says localhost. */
  readonly loopbackServer?: string;
};

export type ClusterConnections = Disposable & {
  /**
   * The connection of the cluster that `key` names. If its kubeconfig has changed, it is replaced: long-running requests on the old
   * one are closed, since its credential is no longer valid, and all others complete. Throws ApiError 502 for an unusable kubeconfig.
   */
  connectionOf(key: string, kubeConfig: string, options?: ClusterOptions): ClusterConnection;
  /** Undefined if it has not been used yet. */
  known(key: string): ClusterConnection | undefined;
  /** Closes requests in progress: the cluster is not connected any more. */
  remove(key: string): void;
};

type Entry = { readonly kubeConfig: string; readonly loopbackServer: string; readonly connection: ClusterConnection };

export function createClusterConnections(deps: ClusterConnectionDeps): ClusterConnections {
  const entries = new Map<string, Entry>();

  return {
    connectionOf(key, kubeConfig, { namespace, loopbackServer = "" } = {}) {
      const known = entries.get(key);
      if (known?.kubeConfig === kubeConfig && known.loopbackServer === loopbackServer) return known.connection;
      const target = targetOfKubeconfig(kubeConfig, loopbackServer === "" ? undefined : loopbackServer);
      const connection = createClusterConnection(target, { ...deps, namespace });
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
