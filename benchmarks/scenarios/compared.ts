// All work for the comparison of builds, in order.

import { CLUSTERS } from "./clusters.ts";
import { GETS, QUIET_GETS } from "./get.ts";
import { KUBE_CONFIGS } from "./kubeconfigs.ts";
import { LISTS } from "./lists.ts";
import type { Scenario } from "./scenario.ts";
import { TOKEN_REVIEW } from "./token-reviews.ts";
import { WRITES } from "./writes.ts";

/** Lists first, because writes add to what they list. */
export const SCENARIOS: readonly Scenario[] = [
  ...GETS,
  ...QUIET_GETS,
  ...LISTS,
  ...WRITES,
  ...KUBE_CONFIGS,
  TOKEN_REVIEW,
  ...CLUSTERS,
];
