// The recorded use of a key in groups: the same verbs on the same resource in many places are one row.

import type { ResourceUse } from "@postern/api/owned-access-key-explanation";
import { inNaturalOrder } from "../../../format/natural-order.ts";
import { scopeSummary } from "../scopes/scope-words.ts";

export type UseGroup = {
  readonly apiGroup: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** In words, sorted. One empty place: the management API. */
  readonly places: readonly string[];
  /** All places in one phrase, such as `38 virtual clusters`. */
  readonly where: string;
};

type Target = NonNullable<ResourceUse["target"]>;

/** In the order of the first of each group. */
export function groupUses(uses: readonly ResourceUse[]): readonly UseGroup[] {
  const groups = new Map<string, { readonly first: ResourceUse; readonly targets: (Target | undefined)[] }>();
  for (const use of uses) {
    const { apiGroup = "", resource = "", verbs = [], target } = use;
    const id = `${target === undefined} ${apiGroup} ${resource} ${verbs.join(",")}`;
    const group = groups.get(id);
    if (group === undefined) groups.set(id, { first: use, targets: [target] });
    else group.targets.push(target);
  }
  return [...groups.values()].map(({ first: { apiGroup = "", resource = "", verbs = [] }, targets }) => ({
    apiGroup,
    resource,
    verbs,
    places: targets.map((target) => (target === undefined ? "" : scopeSummary({ scope: target }))).sort(inNaturalOrder),
    where: scopeOf(targets),
  }));
}

/** Empty for the management API. */
function scopeOf(targets: readonly (Target | undefined)[]): string {
  const all = targets.filter((target) => target !== undefined);
  if (all.length === 0) return "";
  return scopeSummary({
    scope: {
      virtualClusters: all.flatMap(({ virtualClusters = [] }) => virtualClusters),
      spaces: all.flatMap(({ spaces = [] }) => spaces),
      clusters: all.flatMap(({ clusters = [] }) => clusters),
    },
  });
}
