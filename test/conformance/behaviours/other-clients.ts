// Requests of other clients.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const OTHER_CLIENTS: BehaviourLines = {
  "M-01": "reflectors of client-go list, watch, and list again after 410",
  "M-02": "typed clients of client-go send and receive protobuf",
  "M-03": "dynamic and metadata clients",
  "M-04": "controller-runtime: discovery, locks in patches, status, deleted collections",
  "M-05": "the Python client",
  "M-06": "the JavaScript client",
  "M-07": "Terraform",
  "M-08": "Helm",
};
