// Deletes expired access keys. They are already refused; this only cleans up.

import { deleteControlled } from "@postern/apiserver/controllers/controlled-objects";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createSweeper } from "@postern/apiserver/controllers/sweeper";
import type { LiveAccessKeyIndex } from "../index/create-access-key-index.ts";
import type { AccessKeyRecord } from "../record/access-key-record.ts";
import { ACTIVITY_GRACE_MS } from "./access-key-conditions.ts";

const INTERVAL_MS = 15_000;

/** Sweeps as soon as all keys have been read, and from then on four times a minute until it is disposed. */
export const createAccessKeyReaper = (deps: {
  readonly port: Omit<ControllerPort, "resources">;
  /** The installed `ownedaccesskeys`. */
  readonly accessKeys: ControlledResource;
  readonly keys: LiveAccessKeyIndex;
  /** The setting accessKeys.keepExpiredSeconds. */
  readonly keepExpiredSeconds: number;
}): Controller => {
  const { port, accessKeys, keys, keepExpiredSeconds } = deps;
  const keepMs = keepExpiredSeconds * 1000;
  return createSweeper<AccessKeyRecord>(port, {
    intervalMs: INTERVAL_MS,
    begin: keys.whenRead(),
    items: () => keys.all(),
    isOver: (record) => {
      if (record.grant !== undefined) return isOverForGood(record, keys);
      const graceMs = Math.max(keepMs, record.countsFromActivity ? ACTIVITY_GRACE_MS : 0);
      if (keys.hasEnded(record, graceMs)) return true;
      const revokedAt = revocationOf(record, keys);
      return revokedAt !== undefined && revokedAt + keepMs <= port.runtime.clock.now();
    },
    remove({ name, uid, writtenRevision }, signal) {
      // Only as it was looked at: an edit that lets it live on comes first.
      const resourceVersion = String(writtenRevision);
      return deleteControlled(port, accessKeys, { metadata: { name, uid } }, signal, { resourceVersion });
    },
    nameOf: ({ name }) => name,
  });
};

/**
 * Trust rules may issue a thousand keys a minute. An ended one is of no use: the audit log has what it did. A key that is locked with its user, or
 * disabled, may become valid again.
 */
const isOverForGood = (record: AccessKeyRecord, keys: LiveAccessKeyIndex): boolean =>
  keys.hasEnded(record) || OVER.has(keys.stateOf(record)?.reason ?? "");

const OVER: ReadonlySet<string> = new Set(["TrustWithdrawn", "Revoked"]);

/** When the key was revoked for good, in milliseconds since the epoch: one that it goes back to was compromised. */
function revocationOf(record: AccessKeyRecord, keys: LiveAccessKeyIndex): number | undefined {
  if (keys.stateOf(record)?.reason !== "Revoked") return undefined;
  const times = record.origins.map(({ name }) => keys.recordOf(name)?.childrenRevokedAt ?? 0);
  return Math.max(0, ...times);
}
