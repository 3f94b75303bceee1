// The kinds AccessPolicy, ClusterAccessPolicy and AccessRequest.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import { createStatusWrites } from "../../../foundation/kinds/status-writes.ts";
import { labelledCounter } from "../../../foundation/metrics/counters.ts";
import { createAccessCheck } from "./access-check.ts";
import { accessPolicies } from "./access-policies/index.ts";
import { createAnnounceAccess } from "./access-requests/announce-access.ts";
import { accessRequests } from "./access-requests/index.ts";
import { clusterAccessPolicies } from "./cluster-access-policies/index.ts";
import type { AccessRequestNeeds, AccessRequestParts } from "./needs.ts";

/** The kinds, and what the controller of requests shares with them. */
export type AccessRequestKinds = AccessRequestParts & { readonly definitions: readonly ResourceDefinition[] };

export function accessRequestKinds(base: Foundation, needs: AccessRequestNeeds): AccessRequestKinds {
  const { names, metrics, recordEvent } = base;
  const count = labelledCounter(
    metrics.registry,
    "postern_access_requests_total",
    "Access requests and decisions on them, by the reason of their Event",
    "reason",
  );
  const parts: AccessRequestParts = {
    check: createAccessCheck(base, needs.access, needs.directory, needs.authorization),
    writes: createStatusWrites(),
    announce: createAnnounceAccess({ names, recordEvent, count }),
  };
  return {
    ...parts,
    definitions: [clusterAccessPolicies(base, needs), accessPolicies(base, needs), accessRequests(base, needs, parts)],
  };
}
