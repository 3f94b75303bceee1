// Gives running clusters the CAs and keys of each step of a rotation, before they answer anything after it.

import type { RotationStates } from "../../certificate-authorities/rotation-states.ts";
import type { ClusterSecrets } from "./cluster-secrets.ts";
import type { EmbeddedCluster } from "./embedded-cluster.ts";

export type RotatedClusters = Disposable & {
  /** The cluster, once it has the secrets of all steps that memory knows of. */
  upToDate<Cluster extends EmbeddedCluster>(uid: string, cluster: Promise<Cluster>): Promise<Cluster>;
};

export function createRotatedClusters({
  rotations,
  running,
  load,
}: {
  readonly rotations: Pick<RotationStates, "onChange"> | undefined;
  readonly running: (uid: string) => Promise<EmbeddedCluster> | undefined;
  readonly load: (uid: string) => Promise<ClusterSecrets | undefined>;
}): RotatedClusters {
  /** Loading, by the uid of the cluster; the last one of each. */
  const loading = new Map<string, Promise<void>>();

  async function reload(uid: string, cluster: Promise<EmbeddedCluster>): Promise<void> {
    const started = await cluster;
    const secrets = await load(uid);
    // A cluster that was stopped meanwhile starts with them.
    if (secrets !== undefined && running(uid) === cluster) started.setSecrets(secrets);
  }

  /** After the one before, so that an older answer of the store never comes last. */
  function begin(uid: string): void {
    const cluster = running(uid);
    if (cluster === undefined) return;
    const before = loading.get(uid) ?? Promise.resolve();
    const next = before.catch(() => undefined).then(() => reload(uid, cluster));
    loading.set(uid, next);
    next.then(
      () => {
        if (loading.get(uid) === next) loading.delete(uid);
      },
      // The next request tries again: until it succeeds, none is served with what may be refused by now.
      () => undefined,
    );
  }

  const following = rotations?.onChange(begin);
  async function loaded<Cluster>(uid: string, cluster: Promise<Cluster>): Promise<Cluster> {
    for (;;) {
      const pending = loading.get(uid);
      if (pending === undefined) return await cluster;
      try {
        await pending;
      } catch (error) {
        if (loading.get(uid) !== pending) continue;
        loading.delete(uid);
        begin(uid);
        throw error;
      }
    }
  }

  return {
    upToDate: (uid, cluster) => (loading.has(uid) ? loaded(uid, cluster) : cluster),
    [Symbol.dispose]: () => following?.[Symbol.dispose](),
  };
}
