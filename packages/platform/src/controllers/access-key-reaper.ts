// Deletes access keys after the end of their life. Until then they are refused already; this only tidies up.

import {
  CONTROLLER_WRITE,
  type ControlledResource,
  type Controller,
  type ControllerPort,
  contextOf,
} from "@postern/apiserver/controllers/controller-port";
import { passingOverRaces } from "@postern/apiserver/controllers/update-controlled";
import type { AccessKeyRecord } from "../access-keys/access-key-record.ts";
import type { LiveAccessKeyIndex } from "../access-keys/create-access-key-index.ts";

export type AccessKeyReaperOptions = {
  readonly port: Omit<ControllerPort, "resources">;
  /** The installed `ownedaccesskeys`. */
  readonly accessKeys: ControlledResource;
  readonly keys: LiveAccessKeyIndex;
};

const INTERVAL_MS = 15_000;
/** So many deletions at once go into one commit of the store. */
const BATCH = 64;
/** So many records are looked at before requests get their turn. */
const SLICE = 5_000;
/** Uses on other replicas are written within a minute; a key that lives on by them is not to be deleted by one that does not know. */
const ACTIVITY_GRACE_MS = 2 * 60_000;

/** Sweeps at once, and from then on four times a minute until it is disposed. */
export function createAccessKeyReaper({ port, accessKeys, keys }: AccessKeyReaperOptions): Controller {
  const { scheduler } = port.runtime;
  const stop = new AbortController();
  let timer: Disposable | undefined;

  const isOver = (record: AccessKeyRecord): boolean =>
    keys.hasEnded(record, record.countsFromActivity ? ACTIVITY_GRACE_MS : 0);

  const reap = async (record: AccessKeyRecord): Promise<void> => {
    const { name, uid, writtenRevision } = record;
    const context = contextOf(port, { verb: "delete", resource: accessKeys, namespace: "", name }, stop.signal);
    try {
      // Only as it was looked at: an edit that lets it live on comes first.
      const preconditions = { uid, resourceVersion: String(writtenRevision) };
      await passingOverRaces(() => accessKeys.store.delete(context, "", name, { ...CONTROLLER_WRITE, preconditions }));
    } catch (error) {
      if (!stop.signal.aborted) port.onError(error, name);
    }
  };

  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  const sweep = async (): Promise<void> => {
    let batch: AccessKeyRecord[] = [];
    let looked = 0;
    for (const record of keys.all()) {
      if (stop.signal.aborted) return;
      if (isOver(record)) batch.push(record);
      if (batch.length === BATCH) {
        await Promise.all(batch.map(reap));
        batch = [];
      } else if (++looked % SLICE === 0) {
        await turn();
      }
    }
    await Promise.all(batch.map(reap));
  };

  let running = sweep();
  const schedule = (): void => {
    if (stop.signal.aborted) return;
    timer = scheduler.schedule(INTERVAL_MS, () => {
      running = sweep();
      void running.then(schedule);
    });
  };
  void running.then(schedule);

  return {
    idle: () => running,
    [Symbol.dispose]() {
      stop.abort();
      timer?.[Symbol.dispose]();
    },
  };
}
