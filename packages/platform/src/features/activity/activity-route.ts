// GET /activity: what this server has done in the last day, for the first page of the console.

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { jsonResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../foundation/foundation.ts";
import type { ManagementRoute } from "../../foundation/http/feature-route.ts";
import type { AccessKeyIndex } from "../access-keys/index/access-key-index.ts";
import type { ActivitySnapshot } from "./activity-snapshot.ts";
import type { ServerActivity } from "./server-activity.ts";

/** Open to callers that RBAC lets `get` it: the platform's administrators. It has the names of keys and users of all tenants. */
const ACTIVITY_PATH = "/activity";

const KEYS = 20;
/** Fewer refusals of a key within a day happen to everyone. */
const MANY_REFUSALS = 10;

/**
 * Answers with the counts of each minute (`requests`, `refused`, `failed`, `watches`: oldest first from `from` on, at most a day), `openWatches`, the
 * keys and client certificates that are used and refused most often in the last day, the changes of the last hour, newest first, and what `alerts` could come from.
 */
export function activityRoute(
  { configuration }: Pick<Foundation, "configuration">,
  needs: {
    readonly activity: Pick<ServerActivity, "read">;
    readonly keys: Pick<AccessKeyIndex, "byId">;
    /** With that of the other servers of this process. Undefined: this is the only one. */
    readonly readActivity: ((own: Pick<ServerActivity, "read">) => Promise<ActivitySnapshot>) | undefined;
  },
): ManagementRoute {
  const { activity, keys, readActivity: read = (own) => own.read() } = needs;
  const keyOf = (id: string) => {
    const key = keys.byId(id);
    return key === undefined ? { id } : { id, name: key.name, owner: key.owner.name };
  };
  const handle: ManagementRoute["handle"] = async ({ request }) => {
    if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowedError();
    const { from, counts, openWatches, metricsReadAt, used, refused, changes } = await read(activity);
    const counted = (found: ActivitySnapshot["used"]) =>
      found.slice(0, KEYS).map(({ id, count, ...holder }) => ({ ...keyOf(id), ...holder, count }));
    const body = {
      from: formatTimestamp(from),
      ...counts,
      openWatches,
      alerts: {
        webhook: configuration.notices.webhook.url !== "",
        ...(metricsReadAt === undefined ? {} : { metricsReadAt: formatTimestamp(metricsReadAt) }),
      },
      used: counted(used),
      refusedKeys: counted(refused.filter(({ count }) => count >= MANY_REFUSALS)),
      changes: changes.map(({ at, credentialId, ...change }) => ({
        at: formatTimestamp(at),
        ...change,
        ...(credentialId === undefined ? {} : { key: keys.byId(credentialId)?.name ?? credentialId }),
      })),
    };
    return jsonResponse(200, JSON.stringify(body));
  };
  return { path: ACTIVITY_PATH, handle };
}
