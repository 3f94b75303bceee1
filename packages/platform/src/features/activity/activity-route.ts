// GET /activity: what this server has done in the last day, for the first page of the console.

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { Handler } from "@postern/apiserver/context/request-context";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { jsonResponse } from "@postern/apiserver/transport/api-response";
import type { AccessKeyIndex } from "../access-keys/access-key-index.ts";
import type { ServerActivity } from "./server-activity.ts";

/** Open to callers that RBAC lets `get` it: the platform's administrators. It has the names of keys and users of all tenants. */
export const ACTIVITY_PATH = "/activity";

const HOUR_MS = 3_600_000;
const KEYS = 20;
/** Fewer refusals of a key within a day happen to everyone. */
const MANY_REFUSALS = 10;

/**
 * Answers with the counts of each minute (`requests`, `refused`, `failed`, `watches`: oldest first from `from` on, at most a day), `openWatches`, the
 * keys that are used and refused most often in the last day, the changes of the last hour, newest first, and what `alerts` could come from.
 */
export function createActivityHandler(deps: {
  readonly activity: ServerActivity;
  readonly keys: Pick<AccessKeyIndex, "byId">;
  readonly clock: Clock;
  /** Whether notices go to a webhook. */
  readonly hasWebhook: boolean;
}): Handler {
  const { activity, keys, clock, hasWebhook } = deps;
  const keyOf = (id: string) => {
    const key = keys.byId(id);
    return key === undefined ? { id } : { id, name: key.name, owner: key.owner.name };
  };
  return ({ request }) => {
    if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowedError();
    const now = clock.now();
    const metricsReadAt = activity.metricsReadAt();
    const { from, counts } = activity.minutes.read(now);
    const counted = (found: readonly { readonly id: string; readonly count: number }[]) =>
      found.map(({ id, count }) => ({ ...keyOf(id), count }));
    const body = {
      from: formatTimestamp(from),
      ...counts,
      openWatches: activity.openWatches(),
      alerts: {
        webhook: hasWebhook,
        ...(metricsReadAt === undefined ? {} : { metricsReadAt: formatTimestamp(metricsReadAt) }),
      },
      used: counted(activity.used.read(KEYS, now)),
      refusedKeys: counted(activity.refused.read(KEYS, now).filter(({ count }) => count >= MANY_REFUSALS)),
      changes: activity.changes.since(now - HOUR_MS).map(({ at, credentialId, ...change }) => ({
        at: formatTimestamp(at),
        ...change,
        ...(credentialId === undefined ? {} : { key: keys.byId(credentialId)?.name ?? credentialId }),
      })),
    };
    return jsonResponse(200, JSON.stringify(body));
  };
}
