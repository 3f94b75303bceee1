// A named health check.
// Source: k8s.io/apiserver/pkg/server/healthz/healthz.go

export type HealthCheck = {
  /** As in `/readyz/<name>`; may hold slashes. */
  readonly name: string;
  /** Throws or rejects on errors. The message is for the log, and for callers that may request this single check. */
  check(): Promise<void> | void;
};

/** Thrown by a check that fails as part of a start or a stop: it is logged as one line of text, because it is no fault. */
export class NotReadyError extends Error {
  override readonly name = "NotReadyError";
}

export const pingCheck: HealthCheck = { name: "ping", check: () => undefined };

/** Fails from the moment the server begins to stop, so that no new requests are sent its way. */
export const shutdownCheck = (stopping: AbortSignal): HealthCheck => ({
  name: "shutdown",
  check() {
    if (stopping.aborted) throw new NotReadyError("process is shutting down");
  },
});
