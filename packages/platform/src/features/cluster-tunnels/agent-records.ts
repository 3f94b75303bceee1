// The keys of the agent of each Cluster, and which cluster it runs in: written when it joins, deleted with the Cluster.

import { CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Storage } from "@postern/apiserver/storage/storage";
import { putUnlessConflict, unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { AgentIdentity } from "./agent-identity.ts";
import type { AgentPlace } from "./agent-targets.ts";

/** A key that opens the tunnel. */
export type AgentKeyRecord = {
  readonly uid: string;
  readonly name: string;
  /** Milliseconds since the epoch at which it was made. */
  readonly madeAt: number;
  /** Milliseconds since the epoch at which it is revoked; absent while no newer one has been used. */
  readonly until?: number;
  /** The pod that exchanged its token for the key. Absent: the key is kept in the cluster, and all replicas have it. */
  readonly holder?: string;
  /** Milliseconds since the epoch at which it expires; present with `holder`. */
  readonly expiresAt?: number;
};

export type AgentRecord = AgentPlace & {
  /** Uid of the namespace kube-system there: a copied key is refused in any other cluster. */
  readonly peerUid: string;
  /** The ServiceAccount with whose tokens the agent gets its keys. Absent where it keeps its key. */
  readonly identity?: AgentIdentity;
  /** The newest is the last one. */
  readonly keys: readonly AgentKeyRecord[];
};

export type AgentRecords = {
  /** As memory shows it. By the uid of the Cluster. */
  of(clusterUid: string): AgentRecord | undefined;
  /** Uids of the Clusters that have one. */
  uids(): readonly string[];
  /** Writes what `change` makes of the newest record; undefined leaves it as it is. Resolves with what the store then has. */
  change(
    clusterUid: string,
    change: (record: AgentRecord | undefined) => AgentRecord | undefined,
  ): Promise<AgentRecord | undefined>;
  remove(clusterUid: string): Promise<void>;
};

export function createAgentRecords(
  { view, prefix }: ViewPrefix,
  storage: Pick<Storage, "get" | "create" | "update" | "delete">,
): AgentRecords {
  const readEntry = CachedObject.entryReader();
  // This file writes the records.
  const recordIn = (object: CachedObject): AgentRecord => {
    const { cluster, namespace, peerUid, identity, keys } = object.decode() as unknown as AgentRecord;
    return {
      ...{ cluster, peerUid, keys },
      ...(namespace === undefined ? {} : { namespace }),
      ...(identity === undefined ? {} : { identity }),
    };
  };
  const newest = async (key: string): Promise<CachedObject | undefined> => {
    const entry = await storage.get(key);
    return entry && readEntry(entry);
  };

  return {
    of(clusterUid) {
      const object = view.get(prefix + clusterUid);
      return object && recordIn(object);
    },
    uids: () => [...view.list(prefix)].map(({ key }) => key.slice(prefix.length)),
    async change(clusterUid, change) {
      const key = prefix + clusterUid;
      for (;;) {
        const found = await newest(key);
        const before = found && recordIn(found);
        const after = change(before);
        if (after === undefined) return before;
        const metadata = { name: clusterUid };
        const bytes = encodeStoredValue({ apiVersion: "v1", kind: "ClusterAgent", metadata, ...after });
        if ((await putUnlessConflict(storage, key, bytes, found)) !== undefined) return after;
      }
    },
    async remove(clusterUid) {
      const found = await newest(prefix + clusterUid);
      if (found !== undefined) await unlessConflict(storage.delete(found.key, found.revision));
    },
  };
}
