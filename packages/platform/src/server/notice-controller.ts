// Assembles the notice controller: events, metrics and the webhook.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import { createEvent } from "@postern/apiserver/controllers/event-recorder";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import type { PlatformCore } from "../core/platform-core.ts";
import { createKeyNotices } from "../features/notices/key-notices.ts";
import { createNoticeWebhook, type NoticeWebhook } from "../features/notices/notice-webhook.ts";
import { createAddressRules, LOCAL_TO_A_LINK, PRIVATE_NETWORKS } from "../features/proxy/address-rules.ts";
import { ownAddresses } from "../features/virtual-clusters/reach-clusters.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import { parseLeadTime } from "../foundation/config/rules.ts";
import type { DomainMetrics } from "./domain-metrics.ts";
import type { ManagementSurface } from "./management-surface.ts";

/** Undefined where none is configured. Rejects with ConfigurationError. */
export async function openNoticeWebhook(
  { notices: { webhook } }: Pick<Configuration, "notices">,
  runtime: Runtime,
): Promise<NoticeWebhook | undefined> {
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
      option: "--notice-webhook-allowed-addresses",
    }),
  });
}

export type NoticeControllerDeps = {
  readonly port: ControllerPort;
  readonly core: PlatformCore;
  readonly surface: Pick<ManagementSurface, "registry">;
  readonly storage: Storage;
  readonly configuration: Pick<Configuration, "notices">;
  readonly webhook: NoticeWebhook | undefined;
  readonly metrics: Pick<DomainMetrics, "notices" | "keyEvent">;
};

export function createNoticeController(deps: NoticeControllerDeps): Controller {
  const { port, core, surface, storage, configuration, webhook, metrics } = deps;
  const events = requiredResource(surface.registry, "", "Event");
  const component = core.names.name;
  return createKeyNotices({
    ...core,
    port,
    storage,
    webhook,
    leadSeconds: configuration.notices.leadTimes.flatMap((text) => parseLeadTime(text) ?? []),
    metrics: metrics.notices,
    async writeEvent(event, name, signal) {
      await createEvent(port, events, { event, name, component }, signal);
      metrics.keyEvent(event.reason);
    },
  });
}
