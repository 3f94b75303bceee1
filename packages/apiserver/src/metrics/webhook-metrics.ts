// Metrics of admission webhook calls, with the names of kube-apiserver, but without the label `name`: tenants choose the names and number of their
// webhooks.
// Source: k8s.io/apiserver/pkg/admission/metrics/metrics.go

import { Counter, Histogram, type Registry } from "prom-client";

export type WebhookCall = {
  readonly type: "admit" | "validating";
  /** CREATE, UPDATE, DELETE or CONNECT. */
  readonly operation: string;
  readonly seconds: number;
  /** Code of the refusal that the client gets, 200 for none; 500 if the webhook could not be called. */
  readonly code: number;
  /** Why the request was refused; undefined where it was not. */
  readonly rejection: "no_error" | "calling_webhook_error" | "apiserver_internal_error" | undefined;
};

export type WebhookMetrics = {
  asked(call: WebhookCall): void;
  /** One could not be asked, and its failure policy is Ignore. */
  failedOpen(type: WebhookCall["type"]): void;
};

const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const durations = new Histogram({
    name: "apiserver_admission_webhook_admission_duration_seconds",
    help: "How long admission webhooks took",
    labelNames: ["type", "operation", "rejected"],
    buckets: BUCKETS,
    registers,
  });
  const requests = new Counter({
    name: "apiserver_admission_webhook_request_total",
    help: "Calls of admission webhooks, by code",
    labelNames: ["type", "operation", "code", "rejected"],
    registers,
  });
  const rejections = new Counter({
    name: "apiserver_admission_webhook_rejection_count",
    help: "Requests refused by admission webhooks, or because a webhook could not be called",
    labelNames: ["type", "operation", "error_type", "rejection_code"],
    registers,
  });
  const open = new Counter({
    name: "apiserver_admission_webhook_fail_open_count",
    help: "Calls of admission webhooks that failed and were ignored",
    labelNames: ["type"],
    registers,
  });
  return {
    asked({ type, operation, seconds, code, rejection }) {
      const rejected = String(rejection !== undefined);
      durations.observe({ type, operation, rejected }, seconds);
      requests.inc({ type, operation, code: String(code), rejected });
      if (rejection === undefined) return;
      // Upstream gives no code when the webhook did not answer.
      const rejection_code = rejection === "no_error" ? String(code) : "0";
      rejections.inc({ type, operation, error_type: rejection, rejection_code });
    },
    failedOpen: (type) => open.inc({ type }),
  };
}
