// AccessRequests: access for a limited time, which others approve.

import { accessRequestFields } from "@postern/api/access-request";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ACCESS_REQUESTS } from "../../request-record.ts";
import { accessRequestColumns } from "./columns.ts";
import { ownAndApprovable, type RequestVisibilityDeps } from "./request-visibility.ts";
import { type AccessRequestStrategyDeps, accessRequestStrategy } from "./strategy.ts";
import { type ApprovalDeps, approval } from "./subresources/approval.ts";

export const accessRequests = (
  deps: AccessRequestStrategyDeps & ApprovalDeps & RequestVisibilityDeps,
): ResourceDefinition =>
  defineResource({
    group: deps.managementGroup,
    version: "v1",
    kind: "AccessRequest",
    plural: ACCESS_REQUESTS,
    singular: "accessrequest",
    shortNames: ["areq"],
    namespaced: false,
    schema: kindSchema(accessRequestFields.schema),
    columns: accessRequestColumns,
    selectableFields: [".status.phase", ".status.requester.user"],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: accessRequestStrategy(deps) as Strategy,
    subresources: [approval(deps)],
    visibility: ownAndApprovable(deps),
  });
