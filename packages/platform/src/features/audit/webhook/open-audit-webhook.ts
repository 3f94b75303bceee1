// The audit webhook as configured: its receiver, its metrics, and the file that remembers how far the log has been delivered.

import { join } from "node:path";
import type { Logger } from "@postern/apiserver/logging/logger";
import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Configuration } from "../../../foundation/config/configuration.ts";
import { readFileIfPresent, replacePrivateFile } from "../../../foundation/pki/private-file.ts";
import { type AuditWebhook, type AuditWebhookMetrics, startAuditWebhook } from "./audit-webhook.ts";
import { openEventReceiver } from "./event-receiver.ts";
import type { LogPosition } from "./log-follower.ts";

/** In the data directory. */
const POSITION_FILE = "audit-webhook.json";

/** `path` is that of the log, which is there. Undefined where none is configured. Rejects with ConfigurationError. */
export async function openAuditWebhook(
  { audit, dataDir, proxyEnvironment }: Pick<Configuration, "audit" | "dataDir" | "proxyEnvironment">,
  path: string,
  deps: {
    readonly runtime: Pick<Runtime, "clock" | "scheduler">;
    readonly metrics: Pick<ServerMetrics, "registry">;
    readonly logger: Pick<Logger, "info" | "warn" | "error">;
  },
): Promise<AuditWebhook | undefined> {
  const metrics = createMetrics(deps.metrics);
  const { configFile, batchMaxSize } = audit.webhook;
  if (configFile === "") return undefined;
  const { scheduler } = deps.runtime;
  const positionFile = join(dataDir, POSITION_FILE);
  const known = await readFileIfPresent(positionFile, "the position of the audit webhook");
  return await startAuditWebhook({
    ...deps,
    path,
    position: known === undefined ? undefined : readPosition(known),
    savePosition: (position) => replacePrivateFile(positionFile, `${JSON.stringify(position)}\n`),
    receiver: await openEventReceiver({ file: configFile, proxyEnvironment, scheduler }),
    mostEvents: batchMaxSize,
    metrics,
  });
}

/** A file that says something else is no reason to leave events out: they are sent from the oldest on. */
function readPosition(text: string): LogPosition {
  try {
    const { file, offset } = JSON.parse(text) as Partial<LogPosition>;
    if (typeof file === "string" && typeof offset === "number" && Number.isSafeInteger(offset) && offset >= 0) {
      return { file, offset };
    }
  } catch {}
  return { file: "", offset: 0 };
}

function createMetrics({ registry }: Pick<ServerMetrics, "registry">): AuditWebhookMetrics {
  const events = createSeriesCounter({
    name: "postern_audit_webhook_events_total",
    help: "Audit events for the audit webhook, by result: delivered, or refused since one alone is too large for the receiver",
    labelNames: ["result"],
    registers: [registry],
    fromZero: true,
  });
  const series = { delivered: events.series({ result: "delivered" }), refused: events.series({ result: "refused" }) };
  const gaps = createSeriesCounter({
    name: "postern_audit_webhook_gaps_total",
    help: "Times that files of the audit log were deleted before their events were delivered to the audit webhook",
    labelNames: [],
    registers: [registry],
    fromZero: true,
  }).series({});
  let behind = (): number => 0;
  new Gauge({
    name: "postern_audit_webhook_behind_seconds",
    help: "Seconds since the audit webhook had been given all audit events; 0 while it has",
    registers: [registry],
    collect() {
      this.set(behind());
    },
  });
  return {
    events: (result, count) => series[result].inc(count),
    gap: () => gaps.inc(),
    gaugeBehind(seconds) {
      behind = seconds;
    },
  };
}
