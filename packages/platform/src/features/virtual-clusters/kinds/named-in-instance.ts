// The names in an instance of either kind that a write warns about if nothing has them.

import type { SpaceInstance } from "@postern/api/space-instance";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import {
  type NameDeps,
  type NamedObject,
  namedCluster,
  namedInRules,
  namedOwner,
} from "../../directory/unknown-names.ts";

export function* namedInInstance(
  { spec }: Pick<SpaceInstance, "spec"> | Pick<VirtualClusterInstance, "spec">,
  deps: NameDeps,
): Generator<NamedObject> {
  yield* namedOwner(spec?.owner, deps);
  yield* namedInRules("spec.access", spec?.access, deps);
  yield* namedInRules("spec.extraAccessRules", spec?.extraAccessRules, deps);
  yield* namedCluster("spec.clusterRef.cluster", spec?.clusterRef?.cluster ?? "", deps);
}
