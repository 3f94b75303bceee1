// Counters and durations of the stages of every request: authentication, authorization, audit.

import { Counter, type Registry } from "prom-client";
import type { AuditEvent } from "../audit/audit-event.ts";
import { createSeriesCounter } from "./counter-series.ts";
import { SeriesHistogram } from "./series-histogram.ts";

export type AuthenticationResult = "success" | "failure" | "error";
export type AuthorizationResult = "allowed" | "denied" | "no-opinion" | "error";

export type StageMetrics = {
  authentication(result: AuthenticationResult, seconds: number): void;
  authorization(result: AuthorizationResult, seconds: number): void;
  auditEvent(level: AuditEvent["level"]): void;
  auditError(): void;
};

const LATENCY_BUCKETS = [0.0001, 0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 1, 5];

export function createStageMetrics(registry: Registry): StageMetrics {
  const registers = [registry];
  return {
    authentication: observeAttempts<AuthenticationResult>(registers, {
      durations: { name: "authentication_duration_seconds", help: "Authentication latency in seconds" },
      attempts: { name: "authentication_attempts", help: "Requests that were authenticated, by result" },
    }),
    authorization: observeAttempts<AuthorizationResult>(registers, {
      durations: { name: "authorization_duration_seconds", help: "Authorization latency in seconds" },
      attempts: { name: "authorization_attempts_total", help: "Requests that were authorized, by result" },
    }),
    ...countAudit(registers),
  };
}

type Description = { readonly name: string; readonly help: string };

/** Counts and times a stage of every request, by its result. */
function observeAttempts<Result extends string>(
  registers: Registry[],
  { durations, attempts }: { readonly durations: Description; readonly attempts: Description },
): (result: Result, seconds: number) => void {
  const labelNames = ["result"] as const;
  const histogram = new SeriesHistogram({ ...durations, labelNames, buckets: LATENCY_BUCKETS, registers });
  const counter = createSeriesCounter({ ...attempts, labelNames, registers });
  const seriesOf = perLabel((result: Result) => ({
    attempts: counter.series({ result }),
    durations: histogram.series({ result }),
  }));
  return (result, seconds) => {
    const series = seriesOf(result);
    series.attempts.inc();
    series.durations.observe(seconds);
  };
}

function countAudit(registers: Registry[]): Pick<StageMetrics, "auditEvent" | "auditError"> {
  const events = createSeriesCounter({
    name: "apiserver_audit_event_total",
    help: "Audit events generated",
    labelNames: [],
    registers,
  }).series({});
  const levels = createSeriesCounter({
    name: "apiserver_audit_level_total",
    help: "Audit events generated, by level",
    labelNames: ["level"],
    registers,
  });
  const errors = new Counter({
    name: "apiserver_audit_error_total",
    help: "Audit events that could not be written",
    labelNames: ["plugin"],
    registers,
  });
  const atLevel = perLabel((level: AuditEvent["level"]) => levels.series({ level }));
  return {
    auditEvent(level) {
      events.inc();
      atLevel(level).inc();
    },
    auditError: () => errors.inc({ plugin: "log" }),
  };
}

/** One result per value of a label, made when the value is first met. */
function perLabel<L extends string, T>(make: (label: L) => T): (label: L) => T {
  const made = new Map<L, T>();
  return (label) => {
    const value = made.get(label) ?? make(label);
    made.set(label, value);
    return value;
  };
}
