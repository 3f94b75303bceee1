// Notices before access keys expire: an Event, metrics and the webhook.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createEvent } from "@postern/apiserver/controllers/event-recorder";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { parseLeadTime } from "../../foundation/config/rules.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import { labelledCounter } from "../../foundation/metrics/counters.ts";
import { createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "../../foundation/upstream/address-rules.ts";
import { outboundProxy } from "../../foundation/upstream/outbound-proxy.ts";
import { ownAddresses } from "../../foundation/upstream/tenant-addresses.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import type { Directory } from "../directory/directory.ts";
import { createKeyNotices, type NoticeMetrics } from "./key-notices.ts";
import { createNoticeWebhook, type NoticeWebhook } from "./notice-webhook.ts";

/** Undefined where none is configured. Rejects with ConfigurationError. */
export async function openNoticeWebhook({ configuration, runtime }: Foundation): Promise<NoticeWebhook | undefined> {
  const { webhook } = configuration.notices;
  if (webhook.url === "") return undefined;
  return await createNoticeWebhook({
    ...webhook,
    timeoutMs: webhook.timeoutSeconds * 1000,
    runtime,
    // An address that the configuration does not name is not reached by way of a host name either.
    addresses: createAddressRules({
      refuse: [...LOCAL_TO_A_LINK, ...PRIVATE_NETWORKS],
      allow: webhook.allowedAddresses,
      ownAddresses,
      proxyFor: outboundProxy(configuration),
      option: "--notice-webhook-allowed-addresses",
    }),
  });
}

/** Counted since the start of the server, whichever server leads. */
export const createNoticeMetrics = ({ registry }: Pick<ServerMetrics, "registry">): NoticeMetrics => ({
  noticed: labelledCounter(
    registry,
    "postern_access_key_notices_total",
    "Notices before access keys expire, by lead time",
    "lead_time",
  ),
  delivery: labelledCounter(
    registry,
    "postern_notice_webhook_deliveries_total",
    "Requests to the notice webhook, by result: delivered, failed (retried), or abandoned after the access key expired",
    "result",
  ),
});

export type NoticeNeeds = {
  readonly keys: AccessKeys;
  readonly directory: Directory;
  readonly webhook: NoticeWebhook | undefined;
  readonly metrics: NoticeMetrics;
};

export function createNoticeController(
  port: ControllerPort,
  base: Foundation,
  { keys, directory, webhook, metrics }: NoticeNeeds,
): Controller {
  const { configuration, names, storage } = base;
  const events = base.installed("", "Event");
  return createKeyNotices({
    port,
    names,
    keys: keys.index,
    keyRecords: keys.records,
    activity: keys.activity,
    noticeRecords: base.records("key-notices"),
    storage,
    directory,
    webhook,
    leadSeconds: configuration.notices.leadTimes.flatMap((text) => parseLeadTime(text) ?? []),
    metrics,
    async writeEvent(event, name, signal) {
      await createEvent(port, events, { event, name, component: names.name }, signal);
      keys.metrics.event(event.reason);
    },
  });
}
