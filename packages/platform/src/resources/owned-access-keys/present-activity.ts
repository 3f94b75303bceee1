// Shows every key with its last use, which is recorded beside it, and with the end of life that follows from that.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { AccessKeyIndex } from "../../access-keys/access-key-index.ts";
import type { LastActivity } from "../../access-keys/last-activity.ts";

export type PresentActivityDependencies = {
  readonly activity: Pick<LastActivity, "writtenOf">;
  readonly keys: Pick<AccessKeyIndex, "byUid">;
};

/** For the `present` of a resource. */
export const presentActivity =
  ({ activity, keys }: PresentActivityDependencies) =>
  (object: CachedObject): CachedObject => {
    const at = activity.writtenOf(object);
    if (at === undefined) return object;
    const key = object.decode();
    const status = isJsonObject(key["status"]) ? key["status"] : {};
    const lastActivity = formatTimestamp(at);
    // Records of an earlier release have it themselves; both are of one form, which sorts by time.
    if (typeof status["lastActivity"] === "string" && status["lastActivity"] >= lastActivity) return object;
    const spec = isJsonObject(key["spec"]) ? key["spec"] : {};
    const end = spec["ttlAfterLastActivity"] === true ? keys.byUid(key.metadata.uid ?? "")?.expiresAt : undefined;
    const expiry = end === undefined ? {} : { expirationTimestamp: formatTimestamp(end) };
    return object.withContent({ ...key, status: { ...status, lastActivity, ...expiry } });
  };
