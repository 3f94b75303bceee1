// POST accessrequests/{name}/approval: a decision on a request. Decided again on the newest state of the request when writes collide.

import { type AccessApprovalRequest, type AccessRequest, accessApprovalSchema } from "@postern/api/access-request";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { Subresource } from "@postern/apiserver/registry/resource-definition";
import { createOptionsOf, isDryRun } from "@postern/apiserver/request/query-options";
import type { Foundation } from "../../../../../foundation/foundation.ts";
import { callerOf } from "../../access-caller.ts";
import type { AccessRequestNeeds, AccessRequestParts } from "../../needs.ts";
import type { AccessEventReason } from "../announce-access.ts";
import { createDecideRequest } from "./decide-request.ts";

export const approval = (
  base: Foundation,
  needs: AccessRequestNeeds,
  { check, writes, announce }: AccessRequestParts,
): Subresource => {
  const { names, own } = base;
  const decide = createDecideRequest(base, needs, check);
  return {
    name: "approval",
    kind: { group: names.managementGroup, version: "v1", kind: "AccessApproval" },
    schema: accessApprovalSchema,
    description: "Decides on the access request: approves, denies, withdraws, revokes or reviews it.",
    async create(context, body) {
      const person = callerOf(context, needs);
      const { name } = context.info;
      // The schema of the kind has checked it.
      const { spec } = body as AccessApprovalRequest;
      const { servedStore, genericStore } = own("AccessRequest");
      // Throws 404 where the caller does not see it.
      const seen = await servedStore.get?.(context, "", name, { resourceVersion: "" });
      const uid = seen?.decode().metadata.uid ?? "";
      context.audit.annotate(names.key("access-request-decided"), name);
      let event: AccessEventReason | undefined;
      const transform = (current: KubeObject): KubeObject => {
        const { decision, message = "" } = spec;
        const decided = decide(current as AccessRequest, { decision, message, person, context });
        ({ event } = decided);
        return { ...current, status: decided.status };
      };
      const isDry = isDryRun(createOptionsOf(context.request.query));
      const { object } = await writes.during(context, () =>
        genericStore.update(context, "", name, { uid, transform, subresource: "" }, { dryRun: isDry }),
      );
      const request = object.decode() as AccessRequest;
      if (event !== undefined && !isDry) announce.changed(request, event, person.user.name);
      const { phase, approvals = [], requiredApprovals, expirationTimestamp } = request.status ?? {};
      return {
        ...body,
        metadata: { name },
        status: {
          phase: phase ?? "Pending",
          approvals: approvals.length,
          requiredApprovals: Number(requiredApprovals ?? 1),
          ...(phase === "Approved" && expirationTimestamp ? { expirationTimestamp } : {}),
        },
      };
    },
  };
};
