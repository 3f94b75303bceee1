// Requests of those who run the server.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const HEALTH_AND_METRICS: BehaviourLines = {
  "H-01": "/version reports the release, without authentication",
  "H-02": "/healthz, /livez and /readyz respond ok, with each check on request",
  "H-03": "only these allow anonymous requests",
  "H-04": "/metrics in Prometheus text, under the names of kube-apiserver",
  "H-05": "a server that shuts down is alive and not ready",
};
