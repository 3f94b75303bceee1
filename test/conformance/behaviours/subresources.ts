// Subresources of an object, below its path.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const SUBRESOURCES: BehaviourLines = {
  "B-01": "/status gives the whole object, and takes only the status",
  "B-02": "a status is a change with a version, an event and a right of its own, not a generation",
  "B-03": "/scale reads and writes the replicas",
  "B-04": "an unknown subresource is 404",
  "B-05": "a subresource that acts is created, and answers with what was posted",
};
