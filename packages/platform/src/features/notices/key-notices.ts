// Notices before access keys expire: an Event, a metric and a webhook call. The write of a notice into the store succeeds on one server only; its
// delivery is retried until it succeeds, also by the next leader.

import { createHash } from "node:crypto";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { PlatformNames } from "@postern/api/platform-names";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { humanDuration } from "@postern/apimachinery/time/human-duration";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { ViewPrefix } from "@postern/apiserver/cache/view-informer";
import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createSweeper } from "@postern/apiserver/controllers/sweeper";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import type { Storage, StoredEntry } from "@postern/apiserver/storage/storage";
import { KeyExistsError, RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import type { AccessKeyOwner } from "../access-keys/access-key-owner.ts";
import type { AccessKeyRecord } from "../access-keys/access-key-record.ts";
import type { LiveAccessKeyIndex } from "../access-keys/create-access-key-index.ts";
import { eventOfKey, type KeyEvent } from "../access-keys/key-events.ts";
import type { LastActivity } from "../access-keys/last-activity.ts";
import type { Directory } from "../directory/directory.ts";
import { dueLeadTime, NO_NOTICES, textOfLeadTime, withSentNotice } from "./notice-plan.ts";
import { decodeEntry, decodeNotices, encodeNotices, type NoticeRecord, type PendingNotice } from "./notice-records.ts";
import type { NoticeWebhook } from "./notice-webhook.ts";

export type NoticeMetrics = {
  /** A notice was decided on; the lead time as the option has it. */
  noticed(leadTime: string): void;
  /** An attempt to reach the webhook came to its end, or there was none before the key ended. */
  delivery(result: "delivered" | "failed" | "abandoned"): void;
};

const INTERVAL_MS = 30_000;
/** Uses on other replicas are written within a minute; a key that lives on by them does not end soon. */
const ACTIVITY_GRACE_MS = 2 * 60_000;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 10 * 60_000;
/** The name of the Event contains the name of its key, as far as there is room. */
const MAX_NAME_LENGTH = 200;

/** Looks as soon as all keys have been read, and from then on twice a minute, until it is disposed. */
export function createKeyNotices(deps: {
  readonly port: Omit<ControllerPort, "resources">;
  readonly names: Pick<PlatformNames, "name" | "managementGroup">;
  readonly keys: LiveAccessKeyIndex;
  /** Where the records of access keys are. */
  readonly keyRecords: ViewPrefix;
  /** Where it is kept what was noticed. */
  readonly activity: Pick<LastActivity, "written">;
  readonly noticeRecords: ViewPrefix;
  readonly storage: Storage;
  /** Writes an Event under a name. Rejects with ApiErrors, AlreadyExists where there is one of this name. */
  readonly writeEvent: (event: KeyEvent, name: string, signal: AbortSignal) => Promise<void>;
  readonly directory: Pick<Directory, "user" | "team">;
  /** How long before the end of a key, in seconds. */
  readonly leadSeconds: readonly number[];
  /** Undefined: there is none. */
  readonly webhook: Pick<NoticeWebhook, "send"> | undefined;
  readonly metrics: NoticeMetrics;
}): Controller {
  const {
    port,
    names,
    keys,
    keyRecords,
    activity,
    noticeRecords,
    storage,
    writeEvent,
    directory,
    leadSeconds,
    webhook,
    metrics,
  } = deps;
  const { clock } = port.runtime;
  const placeOf = (uid: string): string => noticeRecords.prefix + uid;
  const uidOf = (place: string): string => place.slice(noticeRecords.prefix.length);

  const dueNow = (record: AccessKeyRecord, noticed: NoticeRecord["noticed"]): number | undefined => {
    const { expiresAt: end, grant } = record;
    // A job that gets a key for an hour knows that it does.
    if (end === undefined || grant !== undefined) return undefined;
    const graceMs = record.countsFromActivity ? ACTIVITY_GRACE_MS : 0;
    const seconds = dueLeadTime({ end, lifeMs: lifeOf(record, end) }, leadSeconds, noticed, clock.now() - graceMs);
    // A key that is already refused needs no notice.
    return seconds === undefined || keys.stateOf(record) !== undefined ? undefined : seconds;
  };

  /** By what is in memory, which may be behind the store. */
  const isDue = (record: AccessKeyRecord): boolean => {
    if (dueNow(record, NO_NOTICES) === undefined) return false;
    const known = noticeRecords.view.get(placeOf(record.uid));
    return known === undefined || dueNow(record, decodeNotices(known).noticed) !== undefined;
  };

  /** Another server may be faster, and send the notice. */
  async function decide(record: AccessKeyRecord): Promise<void> {
    const entry = await storage.get(placeOf(record.uid));
    const { noticed } = entry === undefined ? { noticed: NO_NOTICES } : decodeEntry(entry);
    const seconds = dueNow(record, noticed);
    if (seconds === undefined || record.expiresAt === undefined) return;
    const written = await write(record.uid, entry, {
      noticed: withSentNotice(noticed, seconds, clock.now()),
      pending: {
        leadSeconds: seconds,
        end: record.expiresAt,
        needsEvent: true,
        needsDelivery: webhook !== undefined,
      },
    });
    if (!written) return;
    metrics.noticed(textOfLeadTime(seconds));
    continueWith(record.uid);
  }

  /** False if another server has written meanwhile. */
  async function write(uid: string, entry: StoredEntry | undefined, next: NoticeRecord): Promise<boolean> {
    try {
      const value = encodeNotices(uid, next);
      if (entry === undefined) await storage.create(placeOf(uid), value);
      else await storage.update(entry.key, value, entry.revision);
      return true;
    } catch (error) {
      if (error instanceof KeyExistsError || error instanceof RevisionConflictError) return false;
      throw error;
    }
  }

  const pendingOf = async (uid: string, signal: AbortSignal) => {
    const entry = await storage.get(placeOf(uid), { signal });
    const key = keys.recordOf(keys.byUid(uid)?.name ?? "");
    const pending = entry === undefined ? undefined : decodeEntry(entry).pending;
    return pending === undefined || key?.uid !== uid ? undefined : { key, pending };
  };

  /** Nothing is done again because another part was done meanwhile. */
  async function markDone(uid: string, done: PendingNotice, part: "needsEvent" | "needsDelivery", signal: AbortSignal) {
    for (;;) {
      const entry = await storage.get(placeOf(uid), { signal });
      if (entry === undefined) return;
      const record = decodeEntry(entry);
      const { pending } = record;
      if (pending === undefined || pending[part] === false || idOf(uid, pending) !== idOf(uid, done)) return;
      const next = { ...pending, [part]: false };
      const left = next.needsEvent || next.needsDelivery ? next : undefined;
      if (await write(uid, entry, { ...record, pending: left })) return;
    }
  }

  async function tell(uid: string, signal: AbortSignal): Promise<void> {
    const found = await pendingOf(uid, signal);
    if (found === undefined || !found.pending.needsEvent) return;
    await tellOf(found.key, found.pending, signal);
    await markDone(uid, found.pending, "needsEvent", signal);
  }

  async function sendNotice(uid: string, signal: AbortSignal): Promise<void> {
    const found = await pendingOf(uid, signal);
    if (found === undefined || !found.pending.needsDelivery) return;
    await deliver(found.key, found.pending, signal);
    await markDone(uid, found.pending, "needsDelivery", signal);
  }

  async function tellOf(key: AccessKeyRecord, notice: PendingNotice, signal: AbortSignal): Promise<void> {
    const remaining = humanDuration(Math.max(0, notice.end - clock.now()));
    const message = `The access key of the ${key.owner.kind} ${key.owner.name} expires in ${remaining}, at ${formatTimestamp(notice.end)}: create a new key in time, or raise spec.ttl, which requires the verb extend`;
    const event = eventOfKey(names, key, "ExpiresSoon", message);
    const hash = createHash("sha256").update(idOf(key.uid, notice)).digest("hex").slice(0, 16);
    const prefix = key.name.length > MAX_NAME_LENGTH ? "access-key" : key.name;
    try {
      // The name follows from the notice: there is no second Event about it, however often this is tried.
      await writeEvent(event, `${prefix}.${hash}`, signal);
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
    }
  }

  async function deliver(key: AccessKeyRecord, notice: PendingNotice, signal: AbortSignal): Promise<void> {
    if (webhook === undefined || notice.end <= clock.now()) {
      metrics.delivery("abandoned");
      return;
    }
    try {
      await webhook.send({ id: idOf(key.uid, notice), body: JSON.stringify(payloadOf(key, notice)) }, signal);
    } catch (error) {
      if (!signal.aborted) metrics.delivery("failed");
      throw error;
    }
    metrics.delivery("delivered");
  }

  /** Holds nothing that opens anything: names, times, and whom to turn to. */
  const payloadOf = (key: AccessKeyRecord, { leadSeconds, end }: PendingNotice) => {
    // The store holds no other kind under this prefix.
    const object = keyRecords.view.get(keyRecords.prefix + key.name)?.decode() as OwnedAccessKey | undefined;
    const { displayName } = object?.spec ?? {};
    const usedAt = activity.written(key);
    const lastActivity = usedAt === undefined ? object?.status?.lastActivity : formatTimestamp(usedAt);
    return {
      type: "accesskey.expiring",
      timestamp: new Date(clock.now()).toISOString(),
      data: {
        accessKey: {
          name: key.name,
          uid: key.uid,
          ...(displayName === undefined ? {} : { displayName }),
          type: key.type === "" ? "User" : key.type,
          creationTimestamp: formatTimestamp(key.createdAt),
          expirationTimestamp: formatTimestamp(end),
          ...(typeof lastActivity === "string" ? { lastActivity } : {}),
        },
        owner: ownerFields(key.owner),
        leadTime: textOfLeadTime(leadSeconds),
        platform: names.name,
      },
    };
  };

  const ownerFields = (owner: AccessKeyOwner) => {
    const { kind, name } = owner;
    const known = kind === "user" ? directory.user(name) : kind === "team" ? directory.team(name) : undefined;
    const email = kind === "user" ? directory.user(name)?.email : undefined;
    const displayName = known?.displayName ?? "";
    return {
      kind,
      name,
      ...(displayName === "" ? {} : { displayName }),
      ...(email === undefined || email === "" ? {} : { email }),
    };
  };

  /** Only as it was looked at: a key that memory does not know yet comes first. */
  async function forget(place: string): Promise<void> {
    const entry = await storage.get(place);
    if (entry === undefined || keys.byUid(uidOf(place)) !== undefined) return;
    const { pending } = decodeEntry(entry);
    await storage.delete(place, entry.revision).catch((error: unknown) => {
      if (!(error instanceof RevisionConflictError)) throw error;
    });
    if (pending?.needsDelivery === true) metrics.delivery("abandoned");
  }

  const retries = { baseDelayMs: FIRST_RETRY_MS, maxDelayMs: LAST_RETRY_MS };
  const queue = new WorkQueue(port, { name: "access_key_notices", process: tell, ...retries });
  // Their own queue: a webhook that does not answer holds up no Events.
  const deliveries = new WorkQueue(port, { name: "access_key_notice_deliveries", process: sendNotice, ...retries });
  const continueWith = (uid: string): void => {
    queue.add(uid);
    deliveries.add(uid);
  };
  const begin = keys.whenRead();
  const sweeper = createSweeper<AccessKeyRecord>(port, {
    intervalMs: INTERVAL_MS,
    begin,
    items: () => keys.all(),
    isOver: isDue,
    remove: decide,
    nameOf: ({ name }) => name,
  });
  const tidier = createSweeper<string>(port, {
    intervalMs: INTERVAL_MS,
    begin,
    items: () => noticeRecords.view.list(noticeRecords.prefix).map(({ key }) => key),
    isOver: (place) => keys.byUid(uidOf(place)) === undefined,
    remove: forget,
    nameOf: uidOf,
  });
  // Work that the leader before has left.
  void begin.then(() => {
    for (const object of noticeRecords.view.list(noticeRecords.prefix)) {
      if (decodeNotices(object).pending !== undefined) continueWith(uidOf(object.key));
    }
  });
  const parts = [sweeper, tidier, queue, deliveries];
  return {
    async idle() {
      for (const part of parts) await part.idle();
    },
    [Symbol.dispose]() {
      for (const part of parts) part[Symbol.dispose]();
    },
  };
}

const idOf = (uid: string, { leadSeconds, end }: PendingNotice): string =>
  `${uid}.${leadSeconds}.${Math.floor(end / 1000)}`;

/** From its creation to its end, or from its last use where that is what counts. */
function lifeOf({ createdAt, countsFromActivity, ttl }: AccessKeyRecord, end: number): number {
  const inAll = end - createdAt;
  return countsFromActivity && ttl > 0 ? Math.min(ttl * 1000, inAll) : inAll;
}
