// Random keys that are narrower than another one, entry by entry.

import type { AccessKeyRestrictions, VirtualClusterEntry } from "@postern/api/access-key-restrictions";
import fc from "fast-check";
import { few, labelRequirement, pick, restrictions, rule } from "./arbitraries.ts";

/** A child of a key's restrictions: every entry is one of the parent's, or a narrower one. */
export function narrowerThan(
  parent: AccessKeyRestrictions | undefined,
): fc.Arbitrary<AccessKeyRestrictions | undefined> {
  if (parent === undefined) return restrictions;
  // Allows nothing as it is, and cannot be extended.
  if (parent.scope === undefined && parent.ruleSets.length === 0) return fc.constant(parent);
  return fc
    .record({
      keep: fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
      name: pick("a", "v1", "c1"),
      extra: few(fc.array(rule, { maxLength: 2 }), 1),
      label: labelRequirement,
    })
    .map(({ keep, name, extra, label }) => {
      let at = 0;
      const kept = <T>(list: readonly T[]): readonly T[] => list.filter(() => keep[at++ % keep.length]);
      const narrowed = (value: string): string => (value === "*" && keep[at++ % keep.length] === true ? name : value);
      const isKept = (): boolean => keep[at++ % keep.length] === true;
      const narrowedCluster = (entry: VirtualClusterEntry): VirtualClusterEntry => {
        const { virtualCluster, labels } = entry;
        const project = narrowed(entry.project);
        if (labels !== undefined) {
          const named = virtualCluster === "" && isKept() ? name : virtualCluster;
          return { project, virtualCluster: named, labels: isKept() ? [...labels, label] : labels };
        }
        if (isKept()) return { project, virtualCluster: narrowed(virtualCluster) };
        return { project, virtualCluster: virtualCluster === "*" ? "" : virtualCluster, labels: [label] };
      };
      const { scope } = parent;
      return {
        scope:
          scope === undefined
            ? undefined
            : {
                roles: kept(scope.roles),
                projects: kept(scope.projects).map((entry) => ({ project: narrowed(entry.project) })),
                spaces: kept(scope.spaces).map((entry) => ({
                  project: narrowed(entry.project),
                  space: narrowed(entry.space),
                })),
                virtualClusters: kept(scope.virtualClusters).map(narrowedCluster),
                clusters: kept(scope.clusters).map((entry) => ({ cluster: narrowed(entry.cluster) })),
              },
        ruleSets: [...parent.ruleSets, ...extra],
      };
    });
}
