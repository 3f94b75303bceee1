// Schemas that the server publishes.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const OPEN_API: BehaviourLines = {
  "O-01": "/openapi/v3 lists the documents by hash; with the right one they may be kept for ever",
  "O-02": "kubectl finds out by the PATCH operation that the server validates fields",
  "O-03": "kubectl explains kinds from the schemas and their descriptions",
  "O-04": "/openapi/v2 comes as protobuf too, and strategic patches stand only where they are served",
  "O-05": "/openapi/v2 comes as JSON; other types are 406",
  "O-06": "operations have ids, actions, parameters and responses",
  "O-07": "schemas keep the extensions of Kubernetes",
  "O-08": "lists and maps are marked as apply treats them",
};
