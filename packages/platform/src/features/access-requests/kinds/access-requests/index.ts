// AccessRequests: access for a limited time, which others approve.

import { accessRequestFields } from "@postern/api/access-request";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import type { Foundation } from "../../../../foundation/foundation.ts";
import { ACCESS_REQUESTS } from "../../request-record.ts";
import type { AccessRequestNeeds, AccessRequestParts } from "../needs.ts";
import { accessRequestColumns } from "./columns.ts";
import { ownAndApprovable } from "./request-visibility.ts";
import { accessRequestStrategy } from "./strategy.ts";
import { approval } from "./subresources/approval.ts";

export const accessRequests = (
  base: Foundation,
  needs: AccessRequestNeeds,
  parts: AccessRequestParts,
): ResourceDefinition =>
  defineResource({
    group: base.names.managementGroup,
    version: "v1",
    kind: "AccessRequest",
    plural: ACCESS_REQUESTS,
    shortNames: ["areq"],
    namespaced: false,
    schema: kindSchema(accessRequestFields.schema),
    columns: accessRequestColumns,
    selectableFields: [".status.phase", ".status.requester.user"],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: accessRequestStrategy(base, needs, parts) as Strategy,
    subresources: [approval(base, needs, parts)],
    visibility: ownAndApprovable(base, needs, parts),
  });
