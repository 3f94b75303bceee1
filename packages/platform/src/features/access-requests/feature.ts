// Access on request: the policies, and the access that is granted now.

import type { Foundation } from "../../foundation/foundation.ts";
import type { AccessOffers } from "../authorization/platform-decision.ts";
import type { Directory } from "../directory/directory.ts";
import type { AccessGrants } from "./access-grants.ts";
import { createAccessOffers } from "./access-offers.ts";
import {
  ACCESS_POLICIES,
  type AccessPolicies,
  CLUSTER_ACCESS_POLICIES,
  createAccessPolicies,
} from "./access-policies.ts";
import type { Labels } from "./access-policy-state.ts";
import type { AccessPlace } from "./request-record.ts";

export type AccessRequests = Disposable & {
  readonly grants: AccessGrants;
  readonly policies: AccessPolicies;
  readonly offers: AccessOffers;
  /** Labels of the virtual cluster or cluster as it is now; none for a project. */
  readonly labelsOf: (place: AccessPlace) => Labels;
};

export function openAccessRequests(
  { names, objects, runtime, lookup, onError }: Foundation,
  { grants, directory }: { readonly grants: AccessGrants; readonly directory: Directory },
): AccessRequests {
  const policies = createAccessPolicies({
    names,
    clusterPolicies: objects(CLUSTER_ACCESS_POLICIES),
    projectPolicies: objects(ACCESS_POLICIES, { namespaced: true }),
    scheduler: runtime.scheduler,
    onError: (error) => onError(error, "access-policies"),
  });
  const labelsOf = (place: AccessPlace): Labels => {
    if ("cluster" in place) return lookup.cluster(place.cluster)?.metadata.labels ?? {};
    const { project, virtualCluster } = place;
    if (virtualCluster === undefined) return {};
    return lookup.virtualClusterInstance(names.projectNamespace(project), virtualCluster)?.metadata.labels ?? {};
  };
  return {
    grants,
    policies,
    offers: createAccessOffers({ names, policies, directory, labelsOf }),
    labelsOf,
    [Symbol.dispose]: () => policies[Symbol.dispose](),
  };
}
