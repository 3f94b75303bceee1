// Tells the webhook of access requests: of new ones, of approvals, and of their end. At least once for each phase, also by the next leader; the receiver
// knows repetitions by the id.

import type { AccessRequest } from "@postern/api/access-request";
import type { PlatformNames } from "@postern/api/platform-names";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { ignoringConflicts } from "@postern/apiserver/controllers/controlled-objects";
import {
  CONTROLLER_WRITE,
  type ControlledResource,
  type Controller,
  type ControllerPort,
  contextOf,
} from "@postern/apiserver/controllers/controller-port";
import { followKeys } from "@postern/apiserver/controllers/follow-keys";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { StatusWrites } from "../../../foundation/kinds/status-writes.ts";
import type { NoticeWebhook } from "../../notices/notice-webhook.ts";
import { describeAccess } from "../kinds/access-check.ts";

/** Older changes are history: a webhook that is configured later does not receive them. */
const MAX_AGE_MS = 3_600_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 5 * 60_000;

export function createAccessNoticeController(
  port: Omit<ControllerPort, "resources">,
  deps: {
    readonly names: Pick<PlatformNames, "name">;
    readonly requests: ControlledResource;
    readonly webhook: Pick<NoticeWebhook, "send">;
    readonly writes: Pick<StatusWrites, "during">;
  },
): Controller {
  const { names, requests, webhook, writes } = deps;
  const { clock, scheduler } = port.runtime;
  const queue = new WorkQueue(port, {
    name: "access_notices",
    process,
    baseDelayMs: FIRST_RETRY_MS,
    maxDelayMs: LAST_RETRY_MS,
  });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const object = requests.view.get(key)?.decode();
    // The store holds no other kind under this resource.
    const request = object as AccessRequest | undefined;
    const { phase, requester, noticedPhase } = request?.status ?? {};
    if (request === undefined || phase === undefined || requester === undefined || noticedPhase === phase) return;
    if (clock.now() - changedAt(request) > MAX_AGE_MS) return;
    const { name = "", uid = "" } = request.metadata;
    await webhook.send(
      { id: `${uid}-${phase}`, body: JSON.stringify(payloadOf(request, names.name, clock.now())) },
      signal,
    );
    const transform = (current: KubeObject): KubeObject => ({
      ...current,
      status: { ...(current as AccessRequest).status, noticedPhase: phase } as JsonObject,
    });
    const context = contextOf(port, { verb: "update", resource: requests, namespace: "", name }, signal);
    await ignoringConflicts(() =>
      writes.during(context, async () => {
        await requests.genericStore.update(context, "", name, { uid, transform, subresource: "" }, CONTROLLER_WRITE);
      }),
    );
  }

  return createQueueController(queue, [followKeys(requests, scheduler, (key) => queue.add(key))]);
}

/** Time at which the request came into its phase. */
function changedAt({ metadata, status = {} }: AccessRequest): number {
  const { endedTimestamp, approvedTimestamp } = status;
  return parseTimestamp(endedTimestamp ?? approvedTimestamp ?? metadata.creationTimestamp ?? "") ?? 0;
}

/** `text` is for chats, such as Slack's; the rest is for programs. Nothing in it opens anything. */
function payloadOf(request: AccessRequest, platform: string, now: number): JsonObject {
  const { metadata, spec, status = {} } = request;
  const { name = "", uid = "" } = metadata;
  const { phase = "Pending", approvalMode, message = "", expirationTimestamp } = status;
  const isEmergency = phase === "Approved" && approvalMode === "Emergency";
  const what = `access of ${describeAccess(request)}`;
  const why = spec.reason === undefined ? "" : `: ${spec.reason}`;
  const text = isEmergency
    ? `EMERGENCY ${what}${why} (review it: ${platform} access review ${name})`
    : phase === "Pending"
      ? `Request for ${what}${why} (${platform} access approve ${name})`
      : `${phase}: ${what}${message === "" ? "" : ` (${message})`}`;
  return {
    type: isEmergency ? "accessrequest.emergency" : `accessrequest.${phase.toLowerCase()}`,
    timestamp: new Date(now).toISOString(),
    text,
    data: {
      accessRequest: {
        name,
        uid,
        phase,
        requester: status.requester?.user ?? "",
        policy: spec.policy.name,
        target: { ...spec.target },
        ...(spec.role === undefined ? {} : { role: spec.role }),
        ...(spec.reason === undefined ? {} : { reason: spec.reason }),
        ...(expirationTimestamp ? { expirationTimestamp } : {}),
      },
    },
  };
}
