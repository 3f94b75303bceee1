// How much is taken, and what is kept of it.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const LIMITS_AND_AUDIT: BehaviourLines = {
  "X-01": "bodies, annotations, patches and stored objects have their limits",
  "X-02": "labels and annotations have their syntax",
  "X-03": "every answer has an Audit-Id, the client's own where it gave one",
  "X-04": "too many requests at once are 429, watches and health excepted",
  "X-05": "audit events by stage and level",
  "X-06": "a fault of the server is 500, and the connection stays",
  "X-07": "long paths are read",
  "X-08": "connections are kept, many streams go over one, and a silent watch lives",
};
