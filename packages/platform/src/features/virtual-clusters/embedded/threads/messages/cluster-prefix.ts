// The part of the store that belongs to an embedded cluster.

import { compositionPrefix, virtualClusterComposition } from "../../../../../foundation/encryption/internal-records.ts";

/** By the uid of its instance. */
export const prefixOfCluster = (uid: string): string => compositionPrefix(virtualClusterComposition(uid));

/** The parts of all clusters begin with it, up to the uid. */
export const CLUSTERS_PREFIX = compositionPrefix(virtualClusterComposition("")).slice(0, -1);
