// Metrics of what happens to access keys.

import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { labelledCounter, totalCounter } from "../../foundation/metrics/counters.ts";
import type { KeyEventReason } from "./key-events.ts";

export type KeyMetrics = {
  /** A value that was presented as an access key was refused: why, as the condition Ready says it, `NotFound` or `Malformed`. */
  refused(reason: string): void;
  event(reason: KeyEventReason): void;
  retiredValueUsed(): void;
  leakReported(): void;
};

export function createKeyMetrics({ registry }: Pick<ServerMetrics, "registry">): KeyMetrics {
  const refusals = labelledCounter(
    registry,
    "postern_access_key_refusals_total",
    "Requests and token reviews with a refused access key, by reason",
    "reason",
  );
  const events = labelledCounter(
    registry,
    "postern_access_key_events_total",
    "Events about access keys, by reason",
    "reason",
  );
  const rotations = labelledCounter(
    registry,
    "postern_access_key_rotations_total",
    "Rotations of access keys, by kind: plain or compromised",
    "kind",
  );
  return {
    refused: refusals,
    event(reason) {
      events(reason);
      if (reason === "Rotated") rotations("plain");
      if (reason === "Compromised") rotations("compromised");
    },
    leakReported: totalCounter(registry, "postern_leak_reports_total", "Reports of leaked access keys"),
    retiredValueUsed: totalCounter(
      registry,
      "postern_retired_access_key_uses_total",
      "Requests with a value of an access key from before its rotation",
    ),
  };
}
