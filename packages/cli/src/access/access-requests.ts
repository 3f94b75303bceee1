// Access requests as commands read them.

import type { AccessRequest } from "@postern/api/access-request";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { ApiClient } from "@postern/client/api-client";
import { createResourceClient, type ResourceClient } from "@postern/client/resource-client";

export const accessRequestsOf = (client: ApiClient, group: string): ResourceClient<KubeObject> =>
  createResourceClient(client, { group, version: "v1", resource: "accessrequests" });

/** The server serves no other kind under this resource; members may be absent. */
export const asRequest = (object: KubeObject): Partial<AccessRequest> => object as Partial<AccessRequest>;

/** Such as `shop/prod`, `shop` or `cluster/eu`. */
export function targetText({ spec }: Partial<AccessRequest>): string {
  const { project = "", virtualCluster, cluster } = spec?.target ?? {};
  if (cluster !== undefined) return `cluster/${cluster}`;
  return virtualCluster === undefined ? project : `${project}/${virtualCluster}`;
}

export function approvalsText({ status }: Partial<AccessRequest>): string {
  const { approvals = [], requiredApprovals = 1, approvalMode } = status ?? {};
  if (approvalMode === "Automatic" || approvalMode === "Emergency") return approvalMode;
  return `${approvals.length}/${requiredApprovals}`;
}

/** For people: the state of a request in one line. */
export function stateText(object: KubeObject): string {
  const { metadata, status } = asRequest(object);
  const { phase = "Pending", expirationTimestamp, message = "" } = status ?? {};
  const name = `access request ${metadata?.name ?? ""}`;
  if (phase === "Pending") return `${name} waits for approval (${approvalsText(asRequest(object))})`;
  if (phase === "Approved") return `${name} is approved: access until ${expirationTimestamp ?? ""}`;
  return `${name} is ${phase.toLowerCase()}${message === "" ? "" : `: ${message}`}`;
}
