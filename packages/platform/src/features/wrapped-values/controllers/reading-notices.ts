// Announces suspicious readings of wrapped values: an Event and the webhook of notices. At least once each, also by the next leader; the receiver
// knows repetitions by the id.

import type { PlatformNames } from "@postern/api/platform-names";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { CachedObject } from "@postern/apiserver/cache/cached-object";
import { followView } from "@postern/apiserver/cache/view-informer";
import type { ControlledResource, Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createEvent } from "@postern/apiserver/controllers/event-recorder";
import { createQueueController } from "@postern/apiserver/controllers/queue-controller";
import { WorkQueue } from "@postern/apiserver/controllers/work-queue";
import { unlessConflict } from "@postern/apiserver/storage/unless-conflict";
import type { ExpiringRecords } from "../../../foundation/store/expiring-records.ts";
import type { NoticeWebhook } from "../../notices/notice-webhook.ts";
import { readingEvent, readingText, SUSPICIOUS_REASONS } from "../reading-event.ts";
import { decodeWrapped, encodeWrapped, type Suspicion, type WrappedRecord } from "../wrapped-record.ts";

const NOTICE_TYPES: { readonly [why in Suspicion]: string } = {
  ReadAgain: "wrappedvalue.read-again",
  Outside: "wrappedvalue.from-outside",
  Leaked: "wrappedvalue.leaked",
};

const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 5 * 60_000;

export function createReadingNotices(
  port: Omit<ControllerPort, "resources">,
  deps: {
    readonly names: Pick<PlatformNames, "name" | "managementGroup">;
    readonly records: ExpiringRecords;
    readonly events: ControlledResource;
    /** Undefined: there is none. */
    readonly webhook: Pick<NoticeWebhook, "send"> | undefined;
  },
): Controller {
  const { names, records, events, webhook } = deps;
  const { view, prefix, storage } = records;
  const queue = new WorkQueue(port, {
    name: "wrapped_value_notices",
    process,
    baseDelayMs: FIRST_RETRY_MS,
    maxDelayMs: LAST_RETRY_MS,
  });

  async function process(key: string, signal: AbortSignal): Promise<void> {
    const object = view.get(key);
    if (object === undefined) return;
    const record = decodeWrapped(object);
    for (const suspicion of record.suspicious) {
      if (suspicion.isAnnounced === true) continue;
      await announce(record, suspicion, signal);
      await markAnnounced(object, record, suspicion);
      // The change of the record brings it back here for the next one.
      return;
    }
  }

  async function announce(
    record: WrappedRecord,
    suspicion: WrappedRecord["suspicious"][number],
    signal: AbortSignal,
  ): Promise<void> {
    const reason = SUSPICIOUS_REASONS[suspicion.why];
    const { id, subject, read } = record;
    const name = `wrapped-${id}.${suspicion.why.toLowerCase()}`;
    const event = readingEvent(names, record, suspicion, reason);
    try {
      await createEvent(port, events, { event, name, component: names.name }, signal);
    } catch (error) {
      if (!isApiError(error, "AlreadyExists")) throw error;
    }
    const readingOf = ({ at, address, userAgent }: NonNullable<WrappedRecord["read"]>) => ({
      timestamp: new Date(at).toISOString(),
      address,
      userAgent,
    });
    await webhook?.send(
      {
        id: `${id}-${suspicion.why}`,
        body: JSON.stringify({
          type: NOTICE_TYPES[suspicion.why],
          timestamp: new Date(suspicion.at).toISOString(),
          text: readingText(record, suspicion, reason),
          data: {
            wrappedValue: {
              id,
              about: { ...subject },
              presentedBy: readingOf(suspicion),
              ...(read === undefined ? {} : { readBy: readingOf(read) }),
            },
          },
        }),
      },
      signal,
    );
  }

  async function markAnnounced(
    { key, revision }: CachedObject,
    record: WrappedRecord,
    { why }: WrappedRecord["suspicious"][number],
  ): Promise<void> {
    const suspicious = record.suspicious.map((each) => (each.why === why ? { ...each, isAnnounced: true } : each));
    // If it was read or deleted meanwhile, what is not marked comes again.
    await unlessConflict(
      storage.update(key, encodeWrapped(key.slice(prefix.length), { ...record, suspicious }), revision),
    );
  }

  const follow = (): Disposable =>
    followView(records, port.runtime.scheduler, {
      replace(all) {
        for (const { key } of all) queue.add(key);
      },
      put: ({ key }) => queue.add(key),
    });
  return createQueueController(queue, [follow()]);
}
