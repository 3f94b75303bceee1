// What those who run the server ask it.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const HEALTH_AND_METRICS: BehaviourLines = {
  "H-01": "/version says which release this is, to anybody",
  "H-02": "/healthz, /livez and /readyz say ok, and check by check to those who ask",
  "H-03": "anybody may ask for these and for nothing else",
  "H-04": "/metrics in Prometheus text, under the names of kube-apiserver",
  "H-05": "a server that stops is alive and not ready",
};
