// Limits the number of owners by Update, by merging the oldest ones.
// Source: k8s.io/apimachinery/pkg/util/managedfields/internal/capmanagers.go

import { union } from "../fieldpath/field-set.ts";
import type { Managed } from "./managed-fields-codec.ts";
import { withSet } from "./merge-updater.ts";
import { formatOwnerId } from "./owner-id.ts";

const MAX_UPDATE_OWNERS = 10;

const ANCIENT_CHANGES = "ancient-changes";

/** Merges the oldest Update entries into one `ancient-changes` for each version, until at most ten are left. */
export function capUpdateOwners(managed: Managed): Managed {
  if (managed.owners.size <= MAX_UPDATE_OWNERS) return managed;
  const updaters = [...managed.owners].filter(([, { applied }]) => !applied).map(([id]) => id);
  let excess = updaters.length - MAX_UPDATE_OWNERS;
  if (excess <= 0) return managed;

  const owners = new Map(managed.owners);
  const times = new Map(managed.times);
  const age = (id: string): string => `${managed.times.get(id) ?? ""} ${id}`;
  const oldestFirst = updaters.sort((a, b) => (age(a) < age(b) ? -1 : 1));
  const firstOfVersion = new Map<string, string>();

  for (const id of oldestFirst) {
    const owned = owners.get(id);
    if (excess <= 0 || owned === undefined) break;
    const first = firstOfVersion.get(owned.apiVersion);
    // The oldest of a version moves into the bucket only together with a second one.
    if (first === undefined) {
      firstOfVersion.set(owned.apiVersion, id);
      continue;
    }
    const bucket = formatOwnerId({ manager: ANCIENT_CHANGES, operation: "Update", apiVersion: owned.apiVersion });
    let merged = owned;
    for (const part of new Set([bucket, first, id])) {
      const { set } = owners.get(part) ?? {};
      if (set === undefined) continue;
      merged = withSet(merged, union(merged.set, set));
      owners.delete(part);
      excess--;
    }
    owners.set(bucket, merged);
    excess++;
    firstOfVersion.set(owned.apiVersion, bucket);
    const time = managed.times.get(id);
    if (time === undefined) times.delete(bucket);
    else times.set(bucket, time);
  }
  return { owners, times };
}
