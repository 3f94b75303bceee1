// The kinds AccessPolicy, ClusterAccessPolicy and AccessRequest.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import { labelledCounter } from "../../../foundation/metrics/counters.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { AccessRequests } from "../feature.ts";
import { type AccessCheck, createAccessCheck } from "./access-check.ts";
import { accessPolicies } from "./access-policies/index.ts";
import { type AnnounceAccess, createAnnounceAccess } from "./access-requests/announce-access.ts";
import { accessRequests } from "./access-requests/index.ts";
import { createRequestWrites, type RequestWrites } from "./access-requests/request-writes.ts";
import { clusterAccessPolicies } from "./cluster-access-policies/index.ts";

export type AccessRequestKindsNeeds = {
  readonly access: AccessRequests;
  readonly keys: AccessKeys;
  readonly directory: Directory;
  readonly authorization: Authorization;
};

/** The kinds, and what the controller of requests shares with them. */
export type AccessRequestKinds = {
  readonly definitions: readonly ResourceDefinition[];
  readonly check: AccessCheck;
  readonly writes: RequestWrites;
  readonly announce: AnnounceAccess;
};

export function accessRequestKinds(
  base: Foundation,
  { access, keys, directory, authorization }: AccessRequestKindsNeeds,
): AccessRequestKinds {
  const { names, metrics, recordEvent, own } = base;
  const { policies, grants, labelsOf } = access;
  const { authorizer, escalation } = authorization;
  const check = createAccessCheck(base, access, directory, authorization);
  const writes = createRequestWrites();
  const count = labelledCounter(
    metrics.registry,
    "postern_access_requests_total",
    "Access requests and decisions on them, by the reason of their Event",
    "reason",
  );
  const announce = createAnnounceAccess({ names, recordEvent, count });
  const shared = { names, policies, directory, authorizer };
  const ofPolicies = { ...shared, escalation };
  return {
    definitions: [
      clusterAccessPolicies(ofPolicies),
      accessPolicies(ofPolicies),
      accessRequests({
        ...shared,
        managementGroup: names.managementGroup,
        check,
        writes,
        announce,
        grants,
        labelsOf,
        clock: base.runtime.clock,
        keys: keys.index,
        requests: () => own("AccessRequest"),
      }),
    ],
    check,
    writes,
    announce,
  };
}
