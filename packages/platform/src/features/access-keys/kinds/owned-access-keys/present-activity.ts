// Adds the last use and the resulting expiration to access keys.

import { isJsonObject } from "@postern/apimachinery/json/json-value";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import type { AccessKeyIndex } from "../../index/access-key-index.ts";
import type { LastActivity, WrittenActivity } from "../../last-use/last-activity.ts";

export type PresentActivityDeps = {
  readonly activity: Pick<LastActivity, "writtenOf" | "usedNames">;
  readonly keys: Pick<AccessKeyIndex, "byUid">;
};

/** Form of a key in lists, and the data besides the key that it was made of. */
type Shown = {
  readonly written: WrittenActivity;
  /** Set for keys whose lifetime starts again with each use. */
  readonly uid: string | undefined;
  readonly end: number | undefined;
  readonly object: CachedObject;
};

/** If one in so many keys of a list was used, the used keys are looked up rather than the use of each key. */
const FEW = 8;
/** Bytes of the cached JSON. */
const MAX_SHOWN_BYTES = 16 * 1024 * 1024;

/** For the `present` of a resource. */
export const presentActivity =
  (deps: PresentActivityDeps) =>
  (object: CachedObject): CachedObject => {
    const written = deps.activity.writtenOf(object);
    return (written === undefined ? undefined : showActivity(object, written, deps))?.object ?? object;
  };

/** Undefined where the object says it itself. */
function showActivity(
  object: CachedObject,
  written: WrittenActivity,
  { keys }: PresentActivityDeps,
): Shown | undefined {
  const key = object.decode();
  const status = isJsonObject(key["status"]) ? key["status"] : {};
  const lastActivity = formatTimestamp(written.at);
  // Records of an earlier release have it themselves; both are of one form, which sorts by time.
  if (typeof status["lastActivity"] === "string" && status["lastActivity"] >= lastActivity) return undefined;
  const spec = isJsonObject(key["spec"]) ? key["spec"] : {};
  const uid = spec["ttlAfterLastActivity"] === true ? (key.metadata.uid ?? "") : undefined;
  const end = endOf(uid, keys);
  const expiry = end === undefined ? {} : { expirationTimestamp: formatTimestamp(end) };
  const lastUsedFrom = written.from === undefined ? {} : { lastUsedFrom: { ...written.from } };
  const shown = { ...status, lastActivity, ...lastUsedFrom, ...expiry };
  return { written, uid, end, object: object.withContent({ ...key, status: shown }) };
}

const endOf = (uid: string | undefined, keys: PresentActivityDeps["keys"]): number | undefined =>
  uid === undefined ? undefined : keys.byUid(uid)?.expiresAt;

/**
 * For the `presentList` of a resource. The same key with the same use is shown as the same object as long as it is kept, so that lists, which are
 * kept joined, need not be joined anew. `maxBytes`: of what is kept.
 */
export function presentActivities(
  deps: PresentActivityDeps,
  maxBytes: number = MAX_SHOWN_BYTES,
): (objects: readonly CachedObject[]) => readonly CachedObject[] {
  const { activity, keys } = deps;
  /** By the record, the oldest first. */
  const kept = new Map<CachedObject, Shown>();
  let keptBytes = 0;

  function present(record: CachedObject): CachedObject {
    const written = activity.writtenOf(record);
    if (written === undefined) return record;
    const known = kept.get(record);
    if (known?.written === written && known.end === endOf(known.uid, keys)) return known.object;
    const shown = showActivity(record, written, deps);
    if (shown === undefined) return record;
    keep(record, shown);
    return shown.object;
  }

  function keep(record: CachedObject, shown: Shown): void {
    keptBytes += shown.object.byteLength - (kept.get(record)?.object.byteLength ?? 0);
    kept.delete(record);
    kept.set(record, shown);
    for (const [oldest, { object }] of kept) {
      if (keptBytes <= maxBytes) break;
      kept.delete(oldest);
      keptBytes -= object.byteLength;
    }
  }

  return (objects) => {
    const [first] = objects;
    const names = activity.usedNames(Math.floor(objects.length / FEW));
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
}

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
