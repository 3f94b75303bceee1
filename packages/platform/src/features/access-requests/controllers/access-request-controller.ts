// Ends access requests: at the end of their time, and when what they were granted by does not hold any more. Deletes old ones.

import type { AccessRequest, AccessRequestStatus } from "@postern/api/access-request";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { parseTimestamp } from "@postern/apimachinery/time/timestamp";
import { deleteControlled, ignoringConflicts } from "@postern/apiserver/controllers/controlled-objects";
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
import type { AccessGrants } from "../access-grants.ts";
import { KEEP_ENDED_MS, MAX_ENDED_PER_USER } from "../access-limits.ts";
import type { AccessCheck } from "../kinds/access-check.ts";
import type { AccessEventReason, AnnounceAccess } from "../kinds/access-requests/announce-access.ts";
import { endedStatus, isOpenStatus } from "../kinds/access-requests/request-status.ts";
import { isOpen } from "../stored-requests.ts";

export type AccessRequestControllerDeps = {
  readonly requests: ControlledResource;
  readonly instances: ControlledResource;
  readonly grants: Pick<AccessGrants, "hasEnded" | "stored" | "onChange">;
  readonly check: Pick<AccessCheck, "faultOf">;
  readonly writes: Pick<StatusWrites, "during">;
  readonly announce: Pick<AnnounceAccess, "changed">;
  /** Sources that a grant follows from: users and teams, policies, roles. */
  readonly causes: readonly { onChange(listener: () => void): Disposable }[];
};

/** Changes come in numbers: all open requests are looked at once for those of this time. */
const SETTLE_MS = 200;
/** Deleted targets cause no notification. */
const RECHECK_MS = 30_000;

type Ended = {
  readonly phase: "Denied" | "Revoked" | "Expired";
  readonly event: AccessEventReason;
  readonly reason: string;
  readonly message: string;
};

export function createAccessRequestController(
  port: Omit<ControllerPort, "resources">,
  { requests, instances, grants, check, writes, announce, causes }: AccessRequestControllerDeps,
): Controller {
  const { clock, scheduler } = port.runtime;
  const queue = new WorkQueue(port, { name: "access_request", process });

  /** Why the request is not open any more. */
  function endOf(request: AccessRequest): Ended | undefined {
    const { status = {}, metadata } = request;
    if (status.phase === "Pending") {
      const isLate = (parseTimestamp(status.expirationTimestamp ?? "") ?? 0) <= clock.now();
      if (isLate)
        return {
          phase: "Expired",
          event: "AccessExpired",
          reason: "NotApproved",
          message: "it was not approved in time",
        };
      const fault = check.faultOf(request);
      return fault === undefined ? undefined : { phase: "Denied", event: "AccessDenied", ...fault };
    }
    if (status.phase !== "Approved") return undefined;
    if (grants.hasEnded(metadata.uid ?? ""))
      return { phase: "Expired", event: "AccessExpired", reason: "Expired", message: "its time is over" };
    const fault = check.faultOf(request);
    return fault === undefined ? undefined : { phase: "Revoked", event: "AccessRevoked", ...fault };
  }

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const object = requests.view.get(key)?.decode();
    if (object === undefined) return;
    const request = asRequest(object);
    const { status = {}, metadata } = request;
    if (!isOpenStatus(status)) {
      await forget(request, signal);
      return;
    }
    if (endOf(request) !== undefined) {
      await ignoringConflicts(() => end(metadata.name ?? "", metadata.uid ?? "", signal));
      return;
    }
    const left = (parseTimestamp(status.expirationTimestamp ?? "") ?? 0) - clock.now();
    queue.addAfter(key, Math.min(RECHECK_MS, Math.max(left, 1)));
  }

  /** Decides again on what the store has: the request may have been decided on meanwhile. */
  async function end(name: string, uid: string, signal: AbortSignal): Promise<void> {
    let ended: Ended | undefined;
    const transform = (current: KubeObject): KubeObject => {
      const request = asRequest(current);
      ended = endOf(request);
      if (ended === undefined) return current;
      const status: AccessRequestStatus = endedStatus(request.status ?? {}, ended.phase, ended, clock.now());
      return { ...request, status } as KubeObject;
    };
    const context = contextOf(port, { verb: "update", resource: requests, namespace: "", name }, signal);
    const { object } = await writes.during(context, () =>
      requests.genericStore.update(context, "", name, { uid, transform, subresource: "" }, CONTROLLER_WRITE),
    );
    if (ended !== undefined) announce.changed(asRequest(object.decode()), ended.event);
  }

  /** Keeps the newest of a user, for a time. */
  async function forget(request: AccessRequest, signal: AbortSignal): Promise<void> {
    const { metadata, status = {} } = request;
    const endedAt = parseTimestamp(status.endedTimestamp ?? "") ?? 0;
    const left = endedAt + KEEP_ENDED_MS - clock.now();
    const ended = grants.stored.of(status.requester?.user ?? "").filter((record) => !isOpen(record));
    const isSurplus = ended
      .slice(0, Math.max(0, ended.length - MAX_ENDED_PER_USER))
      .some(({ uid }) => uid === metadata.uid);
    if (left <= 0 || isSurplus) await deleteControlled(port, requests, request, signal);
  }

  let sweep: Disposable | undefined;
  const lookAtAll = (): void => {
    sweep ??= scheduler.schedule(SETTLE_MS, () => {
      sweep = undefined;
      for (const object of requests.view.list(requests.keys.prefix)) queue.add(object.key);
    });
  };
  const following = [
    followKeys(requests, scheduler, (key) => queue.add(key)),
    followKeys(instances, scheduler, lookAtAll),
    // A grant that is over by the clock ends in the store, so that it stays over after a restart.
    grants.onChange(lookAtAll),
    ...causes.map((cause) => cause.onChange(lookAtAll)),
    { [Symbol.dispose]: () => sweep?.[Symbol.dispose]() },
  ];
  return createQueueController(queue, following);
}

/** The store holds no other kind under this resource. */
const asRequest = (object: KubeObject): AccessRequest => object as AccessRequest;
