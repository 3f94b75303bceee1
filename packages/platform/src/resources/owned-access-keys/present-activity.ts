// Adds the last use and the resulting expiration to access keys.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { AccessKeyIndex } from "../../access-keys/access-key-index.ts";
import type { LastActivity } from "../../access-keys/last-activity.ts";

export type PresentActivityDeps = {
  readonly activity: Pick<LastActivity, "writtenOf" | "usedNames">;
  readonly keys: Pick<AccessKeyIndex, "byUid">;
};

/** For the `present` of a resource. */
export const presentActivity =
  ({ activity, keys }: PresentActivityDeps) =>
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

/** Of so many keys in a list one was used: then those are looked for, rather than every key for its use. */
const FEW = 8;

/** For the `presentList` of a resource. */
export const presentActivities =
  (deps: PresentActivityDeps) =>
  (objects: readonly CachedObject[]): readonly CachedObject[] => {
    const present = presentActivity(deps);
    const [first] = objects;
    const names = deps.activity.usedNames(Math.floor(objects.length / FEW));
    if (first === undefined || names === undefined) return objects.map(present);
    if (names.length === 0) return objects;
    const prefix = first.key.slice(0, first.key.lastIndexOf("/") + 1);
    const shown = [...objects];
    for (const name of names) {
      const at = placeOf(prefix + name, objects);
      const object = objects[at];
      if (object?.key === prefix + name) shown[at] = present(object);
    }
    return shown;
  };

/** Where the key is, or would be, among objects in the order of their keys. */
function placeOf(key: string, objects: readonly CachedObject[]): number {
  let [from, to] = [0, objects.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((objects[middle]?.key ?? "") < key) from = middle + 1;
    else to = middle;
  }
  return from;
}
