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
import type { Storage } from "@postern/apiserver/storage/storage";
import type { LiveAccessKeyIndex } from "../access-keys/index/create-access-key-index.ts";
import { eventOfKey, type KeyEvent } from "../access-keys/key-events.ts";
import type { LastActivity } from "../access-keys/last-use/last-activity.ts";
import type { AccessKeyRecord } from "../access-keys/record/access-key-record.ts";
import type { Directory } from "../directory/directory.ts";
import { noticePayload } from "./notice-payload.ts";
import { dueLeadTime, NO_NOTICES, textOfLeadTime, withSentNotice } from "./notice-plan.ts";
import type { NoticeRecord, PendingNotice } from "./notice-records.ts";
import { createNoticeStore } from "./notice-store.ts";
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
  /** Objects of access keys. */
  readonly keyRecords: ViewPrefix;
  readonly activity: Pick<LastActivity, "written">;
  /** Notices that were decided on, and their state. */
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
  const { port, names, keys, keyRecords, activity, storage, writeEvent, directory, webhook, metrics } = deps;
  const { clock } = port.runtime;
  const notices = createNoticeStore(storage, deps.noticeRecords);

  const dueNow = (record: AccessKeyRecord, noticed: NoticeRecord["noticed"]): number | undefined => {
    const { expiresAt: end, grant } = record;
    // A job that gets a key for an hour knows that it does.
    if (end === undefined || grant !== undefined) return undefined;
    const graceMs = record.countsFromActivity ? ACTIVITY_GRACE_MS : 0;
    const now = clock.now() - graceMs;
    const seconds = dueLeadTime({ end, lifeMs: lifeOf(record, end) }, deps.leadSeconds, noticed, now);
    // A key that is already refused needs no notice.
    return seconds === undefined || keys.stateOf(record) !== undefined ? undefined : seconds;
  };

  /** By what is in memory, which may be behind the store. */
  const isDue = (record: AccessKeyRecord): boolean => {
    if (dueNow(record, NO_NOTICES) === undefined) return false;
    const known = notices.known(record.uid);
    return known === undefined || dueNow(record, known.noticed) !== undefined;
  };

  /** Another server may be faster, and send the notice. */
  async function decide(record: AccessKeyRecord): Promise<void> {
    const before = await notices.read(record.uid);
    const noticed = before?.record.noticed ?? NO_NOTICES;
    const seconds = dueNow(record, noticed);
    if (seconds === undefined || record.expiresAt === undefined) return;
    const isWritten = await notices.write(record.uid, before, {
      noticed: withSentNotice(noticed, seconds, clock.now()),
      pending: {
        leadSeconds: seconds,
        end: record.expiresAt,
        needsEvent: true,
        needsDelivery: webhook !== undefined,
      },
    });
    if (!isWritten) return;
    metrics.noticed(textOfLeadTime(seconds));
    enqueue(record.uid);
  }

  /** Carries out one part of the pending notice of a key, and records that it is done. */
  const carryOut =
    (part: NoticePart, work: (key: AccessKeyRecord, notice: PendingNotice, signal: AbortSignal) => Promise<void>) =>
    async (uid: string, signal: AbortSignal): Promise<void> => {
      const stored = await notices.read(uid, signal);
      const key = keys.recordOf(keys.byUid(uid)?.name ?? "");
      const notice = stored?.record.pending;
      if (notice === undefined || !notice[part] || key?.uid !== uid) return;
      await work(key, notice, signal);
      await markDone(uid, notice, part, signal);
    };

  /** Nothing is done again because the other part was done meanwhile. */
  async function markDone(uid: string, done: PendingNotice, part: NoticePart, signal: AbortSignal): Promise<void> {
    for (;;) {
      const stored = await notices.read(uid, signal);
      if (stored === undefined) return;
      const { noticed, pending } = stored.record;
      if (pending === undefined || !pending[part] || idOf(uid, pending) !== idOf(uid, done)) return;
      const next = { ...pending, [part]: false };
      const left = next.needsEvent || next.needsDelivery ? next : undefined;
      if (await notices.write(uid, stored, { noticed, pending: left })) return;
    }
  }

  async function announce(key: AccessKeyRecord, notice: PendingNotice, signal: AbortSignal): Promise<void> {
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
    const now = clock.now();
    if (webhook === undefined || notice.end <= now) {
      metrics.delivery("abandoned");
      return;
    }
    // The store holds no other kind under this prefix.
    const object = keyRecords.view.get(keyRecords.prefix + key.name)?.decode() as OwnedAccessKey | undefined;
    const facts = { object, usedAt: activity.written(key), directory, platform: names.name, now };
    try {
      await webhook.send(
        { id: idOf(key.uid, notice), body: JSON.stringify(noticePayload(key, notice, facts)) },
        signal,
      );
    } catch (error) {
      if (signal.aborted) throw error;
      metrics.delivery("failed");
      // The log knows the key by its UID alone.
      throw new Error(`the notice about the access key ${key.name} was not delivered`, { cause: error });
    }
    metrics.delivery("delivered");
  }

  /** A key that memory does not know yet keeps its record: the deletion is for the record as it was read. */
  async function forget(uid: string): Promise<void> {
    const stored = await notices.read(uid);
    if (stored === undefined || keys.byUid(uid) !== undefined) return;
    await notices.delete(stored);
    if (stored.record.pending?.needsDelivery === true) metrics.delivery("abandoned");
  }

  const retries = { baseDelayMs: FIRST_RETRY_MS, maxDelayMs: LAST_RETRY_MS };
  const events = new WorkQueue(port, {
    name: "access_key_notices",
    process: carryOut("needsEvent", announce),
    ...retries,
  });
  // Their own queue: a webhook that does not answer holds up no Events.
  const deliveries = new WorkQueue(port, {
    name: "access_key_notice_deliveries",
    process: carryOut("needsDelivery", deliver),
    ...retries,
  });
  const enqueue = (uid: string): void => {
    events.add(uid);
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
    items: () => notices.uids(),
    isOver: (uid) => keys.byUid(uid) === undefined,
    remove: forget,
    nameOf: (uid) => uid,
  });
  // Work that the leader before has left.
  void begin.then(() => {
    for (const uid of notices.uids()) if (notices.known(uid)?.pending !== undefined) enqueue(uid);
  });
  const parts = [sweeper, tidier, events, deliveries];
  return {
    async idle() {
      for (const part of parts) await part.idle();
    },
    [Symbol.dispose]() {
      for (const part of parts) part[Symbol.dispose]();
    },
  };
}

type NoticePart = "needsEvent" | "needsDelivery";

const idOf = (uid: string, { leadSeconds, end }: PendingNotice): string =>
  `${uid}.${leadSeconds}.${Math.floor(end / 1000)}`;

/** From its creation to its end, or from its last use where that is what counts. */
function lifeOf({ createdAt, countsFromActivity, ttl }: AccessKeyRecord, end: number): number {
  const inAll = end - createdAt;
  return countsFromActivity && ttl > 0 ? Math.min(ttl * 1000, inAll) : inAll;
}
