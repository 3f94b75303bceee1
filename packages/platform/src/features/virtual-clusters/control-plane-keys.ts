// The keys with which control planes of clusters authenticate to the platform: created on demand, stored encrypted.

import type { PlatformNames } from "@postern/api/platform-names";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type InternalRecords, virtualClusterComposition } from "../../foundation/encryption/internal-records.ts";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import type { MintControlPlaneKey, RevokeAccessKey } from "../access-keys/mint-access-key.ts";
import { clusterIdentity, virtualClusterIdentity } from "../authorization/caller.ts";

export type ControlPlaneKeys = {
  /** The key of a virtual cluster, with the role `vcluster` for this one cluster. */
  ofVirtualCluster(instance: KubeObject, context: RequestContext): Promise<string>;
  /** The key of a connected cluster, with the role `agent` for this one cluster. */
  ofCluster(cluster: KubeObject, context: RequestContext): Promise<string>;
  /** Revokes the key of a deleted virtual cluster, so that a later one with its name does not use it. */
  revokeVirtualCluster(uid: string, signal: AbortSignal): Promise<void>;
};

const RECORD = "access-key";

export function createControlPlaneKeys(deps: {
  readonly names: PlatformNames;
  readonly keys: Pick<AccessKeyIndex, "find" | "whenFound" | "refusalOf">;
  readonly mint: MintControlPlaneKey;
  readonly revoke: RevokeAccessKey;
  /** The internal records of an API surface, by its name. */
  readonly recordsOf: (composition: string) => InternalRecords;
}): ControlPlaneKeys {
  const { names, keys, mint, revoke, recordsOf } = deps;
  const isGood = async (key: string): Promise<boolean> => {
    await keys.whenFound(key);
    const known = keys.find(key);
    return known !== undefined && keys.refusalOf(known) === undefined;
  };

  async function keptKey(records: InternalRecords): Promise<string | undefined> {
    const kept = (await records.read(RECORD))?.["accessKey"];
    return typeof kept === "string" ? kept : undefined;
  }

  /** Returns the stored key if it is valid, and otherwise replaces it. */
  async function currentKey(records: InternalRecords, mintOne: () => Promise<string>): Promise<string> {
    const kept = await keptKey(records);
    if (kept !== undefined && (await isGood(kept))) return kept;
    const accessKey = await mintOne();
    await records.replace(RECORD, { accessKey });
    return accessKey;
  }

  // Concurrent requests share the key that is being created.
  const pending = new Map<string, Promise<string>>();
  function keyIn(composition: string, mintOne: () => Promise<string>): Promise<string> {
    const known = pending.get(composition);
    if (known !== undefined) return known;
    const asked = currentKey(recordsOf(composition), mintOne).finally(() => pending.delete(composition));
    pending.set(composition, asked);
    return asked;
  }

  return {
    ofVirtualCluster({ metadata: { namespace = "", name = "", uid = "" } }, context) {
      const project = names.projectOf(namespace) ?? namespace;
      return keyIn(virtualClusterComposition(uid), () =>
        mint(
          {
            subject: virtualClusterIdentity(names, namespace, name),
            displayName: `Virtual cluster ${project}/${name}`,
            role: { role: "vcluster", projects: [project], virtualClusters: [name] },
          },
          context,
        ),
      );
    },
    ofCluster({ metadata: { name = "", uid = "" } }, context) {
      return keyIn(`cluster-${uid}`, () =>
        mint(
          {
            subject: clusterIdentity(names, name),
            displayName: `Cluster ${name}`,
            role: { role: "agent", projects: [], virtualClusters: [] },
            cluster: name,
          },
          context,
        ),
      );
    },
    async revokeVirtualCluster(uid, signal) {
      const kept = await keptKey(recordsOf(virtualClusterComposition(uid)));
      if (kept !== undefined) await keys.whenFound(kept);
      const known = kept === undefined ? undefined : keys.find(kept);
      if (known !== undefined) await revoke(known.name, signal);
    },
  };
}
