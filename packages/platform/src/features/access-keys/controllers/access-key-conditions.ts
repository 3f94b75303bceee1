// Updates the conditions of access keys, for users, `kubectl wait` and watches. Requests are authenticated without them.

import { type Condition, type ConditionState, withCondition } from "@postern/api/conditions";
import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type CachedObject, encodeStoredValue } from "@postern/apiserver/cache/cached-object";
import { createMemberReader } from "@postern/apiserver/cache/read-members";
import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { createScans } from "@postern/apiserver/controllers/scans";
import { createSweeper } from "@postern/apiserver/controllers/sweeper";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import type { Storage } from "@postern/apiserver/storage/storage";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { AccessKeyState } from "../access-key-state.ts";
import type { LiveAccessKeyIndex } from "../index/create-access-key-index.ts";
import { usesRefusal } from "../key-uses.ts";
import { acceptedCondition, readyCondition } from "../kinds/owned-access-keys/ready-condition.ts";
import type { AccessKeyRecord } from "../record/access-key-record.ts";

/** How keys that trust rules issue end for good. */
const SHORT: ReadonlySet<string> = new Set(["Expired", "Revoked", "TrustWithdrawn"]);

/** Uses on other replicas are written within a minute. */
export const ACTIVITY_GRACE_MS = 2 * 60_000;

/** Changes without a notification are noticed by then, unless a look at all keys takes long. */
const INTERVAL_MS = 15_000;

export function createAccessKeyConditions(deps: {
  readonly port: Omit<ControllerPort, "resources">;
  readonly keys: LiveAccessKeyIndex;
  /** Where the records of access keys are. */
  readonly keyRecords: ViewPrefix;
  /** Written to directly: no manager owns the status, and clients that edit a key are not in its way. */
  readonly storage: Storage;
  /** The installed `users`: locking one changes what their keys are. */
  readonly users: ControlledResource;
}): Controller {
  const { port, keys, keyRecords, storage, users } = deps;
  const { clock, scheduler } = port.runtime;

  /** Undefined where the status says so already, or where it is not known yet. */
  const newsOf = (record: AccessKeyRecord): ConditionState | undefined => {
    const refusal = keys.stateOf(record) ?? usesRefusal(record);
    // It is deleted in a moment.
    if (record.grant !== undefined && SHORT.has(refusal?.reason ?? "")) return undefined;
    if (refusal?.reason === "Unknown") return undefined;
    // It would stay expired, although it was used on another replica.
    if (refusal?.reason === "Expired" && record.countsFromActivity && !keys.hasEnded(record, ACTIVITY_GRACE_MS))
      return undefined;
    const accepted = acceptedCondition(record.deletedFrom !== undefined);
    if ((refusal ?? accepted).reason === record.readyReason) return undefined;
    return refusal === undefined ? accepted : readyCondition(refusal);
  };

  async function write(name: string): Promise<void> {
    const record = keys.recordOf(name);
    const news = record === undefined ? undefined : newsOf(record);
    const current = keyRecords.view.get(keyRecords.prefix + name);
    if (record === undefined || news === undefined || current === undefined) return;
    const object = current.decode();
    if (object.metadata.uid !== record.uid) return;
    const next = withReady(object, news, clock.now());
    // If the object was written meanwhile, that write is processed in turn.
    await unlessConflict(
      storage.update(current.key, encodeStoredValue(next, current.decodeSealed()), current.revision),
    );
  }

  const queue = new WorkQueue(port, { name: "access_key_conditions", process: write });
  const scans = createScans();
  /** An end is written at once: after a restart, when the clock may differ, the written end decides. */
  const planEnd = (record: AccessKeyRecord, restMs: number): void => {
    if (record.ttl === 0 || record.countsFromActivity || record.grant !== undefined) return;
    const left = (keys.ownExpiration(record) ?? Number.POSITIVE_INFINITY) - clock.now();
    if (left > 0 && left <= restMs) queue.addAfter(record.name, left);
  };

  const sweeper = createSweeper<AccessKeyRecord>(port, {
    intervalMs: INTERVAL_MS,
    begin: keys.whenRead(),
    items: () => keys.all(),
    isOver(record, restMs) {
      planEnd(record, restMs);
      return newsOf(record) !== undefined;
    },
    remove: ({ name }) => write(name),
    nameOf: ({ name }) => name,
  });

  const look = (record: AccessKeyRecord | undefined): void => {
    // The first sweep looks at all.
    if (record === undefined || !keys.isRead) return;
    // Most writes change nothing of it.
    if (newsOf(record) !== undefined) queue.add(record.name);
    else planEnd(record, sweeper.restMs);
    for (const child of keys.childrenOf(record.uid)) queue.add(child.name);
  };
  const followers = [
    followView({ view: keyRecords.view, prefix: keyRecords.prefix }, scheduler, {
      put: ({ key }) => look(keys.recordOf(key.slice(keyRecords.prefix.length))),
    }),
    followView({ view: users.view, prefix: users.keys.prefix }, scheduler, {
      put(user, previous) {
        // A user may own very many keys.
        if (!keys.isRead || (previous !== undefined && isLocked(user) === isLocked(previous))) return;
        const { name } = users.keys.parse(user.key);
        const lookAgain = (owned: AccessKeyState): void => look(keys.recordOf(owned.name));
        scans.add(inSlices(keys.ownedBy({ kind: "user", name }), lookAgain, scans.signal));
      },
    }),
  ];
  return createQueueController(filledQueue(scans, filledQueue(sweeper, queue)), followers);
}

const readLock = createMemberReader({ spec: { disabled: true } });

function isLocked(user: CachedObject): boolean {
  const { spec } = user.read(readLock) as { readonly spec?: { readonly disabled?: boolean } };
  return spec?.disabled === true;
}

function withReady(object: KubeObject, ready: ConditionState, now: number): KubeObject {
  const status = isJsonObject(object["status"]) ? object["status"] : {};
  const before = status["conditions"];
  // The status belongs to the server.
  const conditions = (isJsonArray(before) ? before : []) as unknown as readonly Condition[];
  return {
    ...object,
    status: { ...status, conditions: withCondition(conditions, ready, now) },
  } as KubeObject;
}
