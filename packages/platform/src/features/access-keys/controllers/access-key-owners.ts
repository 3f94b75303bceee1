// Deletes access keys of deleted users and teams. They are already refused; this only cleans up.

import { followView } from "@postern/apiserver/cache/view-informer";
import { deleteControlled, ignoringConflicts, readControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createQueueController, filledQueue } from "@postern/apiserver/controllers/queue-controller";
import { createScans } from "@postern/apiserver/controllers/scans";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { inSlices } from "@postern/apiserver/runtime/in-slices";
import type { AccessKeyOwner } from "../access-key-owner.ts";
import type { LiveAccessKeyIndex } from "../index/create-access-key-index.ts";
import type { AccessKeyRecord } from "../record/access-key-record.ts";

/** Looks at every key at the start, and at those of an owner when it is deleted, until it is disposed. */
export function createAccessKeyOwners(deps: {
  readonly port: Omit<ControllerPort, "resources">;
  /** The installed `ownedaccesskeys`, `users` and `teams`. */
  readonly accessKeys: ControlledResource;
  readonly users: ControlledResource;
  readonly teams: ControlledResource;
  readonly keys: LiveAccessKeyIndex;
}): Controller {
  const { port, accessKeys, users, teams, keys } = deps;
  const { scheduler } = port.runtime;

  const queue = new WorkQueue(port, {
    name: "access_key_owners",
    async process(name, signal) {
      const record = keys.recordOf(name);
      if (record === undefined || (await isOwned(record, signal))) return;
      const { uid } = record;
      await ignoringConflicts(() => deleteControlled(port, accessKeys, { metadata: { name, uid } }, signal));
    },
  });

  /**
   * True unless the owner that the key was made for is certainly gone: asked of the store, since memory may not have seen a new
   * owner yet, and told by its uid. A key that does not say for which owner it was made is never collected.
   */
  const isOwned = async ({ owner, ownerUid }: AccessKeyRecord, signal: AbortSignal): Promise<boolean> => {
    if (owner.kind === "subject" || ownerUid === undefined) return true;
    const resource = owner.kind === "user" ? users : teams;
    const found = await readControlled(port, resource, { metadata: { name: owner.name } }, signal);
    return found?.metadata.uid === ownerUid;
  };

  const scans = createScans();

  /** Many keys have the same owner, which is read once. */
  const checkAll = async (resource: ControlledResource, kind: "user" | "team"): Promise<void> => {
    await keys.whenRead();
    if (scans.signal.aborted) return;
    const uids = new Map<string, string | undefined>();
    const uidOf = (name: string): string | undefined => {
      if (!uids.has(name)) uids.set(name, resource.view.get(resource.keys.of("", name))?.decode().metadata.uid);
      return uids.get(name);
    };
    const look = ({ name, owner, ownerUid }: AccessKeyRecord): void => {
      if (owner.kind === kind && uidOf(owner.name) !== ownerUid) queue.add(name);
    };
    await inSlices(keys.all(), look, scans.signal);
  };

  const checkOwned = async (owner: AccessKeyOwner): Promise<void> => {
    if (!keys.isRead) await keys.whenRead();
    if (scans.signal.aborted) return;
    await inSlices(keys.ownedBy(owner), ({ name }) => queue.add(name), scans.signal);
  };

  const follow = (resource: ControlledResource, kind: "user" | "team"): Disposable =>
    followView({ view: resource.view, prefix: resource.keys.prefix }, scheduler, {
      replace() {
        scans.add(checkAll(resource, kind));
      },
      delete({ key }) {
        const { name } = resource.keys.parse(key);
        scans.add(checkOwned({ kind, name }));
      },
    });
  const followers = [follow(users, "user"), follow(teams, "team")];

  return createQueueController(filledQueue(scans, queue), followers);
}
