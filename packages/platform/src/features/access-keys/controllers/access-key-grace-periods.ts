// Deletes access keys when the grace period of their deletion is over. They are already refused; this only removes them.

import { followView, type ViewPrefix } from "@postern/apiserver/cache/view-informer";
import { deleteControlled, ignoringConflicts } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { createSweeper } from "@postern/apiserver/controllers/sweeper";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { LiveAccessKeyIndex } from "../index/create-access-key-index.ts";
import type { AccessKeyRecord } from "../record/access-key-record.ts";

/** Ends further away have no timer of their own: a later sweep sees them come. */
const INTERVAL_MS = 60_000;

export function createAccessKeyGracePeriods(deps: {
  readonly port: Omit<ControllerPort, "resources">;
  /** The installed `ownedaccesskeys`. */
  readonly accessKeys: ControlledResource;
  readonly keys: LiveAccessKeyIndex;
  /** Where the records of access keys are. */
  readonly keyRecords: ViewPrefix;
}): Controller {
  const { port, accessKeys, keys, keyRecords } = deps;

  async function end(name: string, signal: AbortSignal): Promise<void> {
    const record = keys.recordOf(name);
    if (record === undefined || !isPending(record)) return;
    if ((keys.graceLeft(record) ?? 0) > 0) return plan(record);
    const { uid } = record;
    // Without a period: finalizers may hold it further, and the garbage collector then treats its dependents.
    await ignoringConflicts(() => deleteControlled(port, accessKeys, { metadata: { name, uid } }, signal));
  }

  const queue = new WorkQueue(port, { name: "access_key_grace_periods", process: end });

  function plan(record: AccessKeyRecord): void {
    const left = isPending(record) ? (keys.graceLeft(record) ?? 0) : Number.POSITIVE_INFINITY;
    if (left <= 0) queue.add(record.name);
    else if (left <= sweeper.restMs) queue.addAfter(record.name, left);
  }

  const sweeper = createSweeper<AccessKeyRecord>(port, {
    intervalMs: INTERVAL_MS,
    begin: keys.whenRead(),
    items: () => keys.all(),
    isOver: isPending,
    remove: async (record) => plan(record),
    nameOf: ({ name }) => name,
  });
  const follower = followView({ view: keyRecords.view, prefix: keyRecords.prefix }, port.runtime.scheduler, {
    put({ key }) {
      const record = keys.isRead ? keys.recordOf(key.slice(keyRecords.prefix.length)) : undefined;
      if (record !== undefined) plan(record);
    },
  });
  return createQueueController(filledQueue(sweeper, queue), [follower]);
}

/** Being deleted with a grace period, which may be over. */
const isPending = ({ deletedFrom }: AccessKeyRecord): boolean => deletedFrom !== undefined && deletedFrom > 0;
