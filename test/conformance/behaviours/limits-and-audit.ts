// How much is taken, and what is kept of it.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const LIMITS_AND_AUDIT: BehaviourLines = {
  "X-01": "bodies, annotations, patches and stored objects have size limits",
  "X-02": "labels and annotations have their syntax",
  "X-03": "every response has an Audit-Id, that of the client if it sent one",
  "X-04": "too many requests at once are 429, watches and health excepted",
  "X-05": "audit events by stage and level",
  "X-06": "a server error is 500, and the connection stays open",
  "X-07": "long paths are read",
  "X-08": "connections are kept, many streams go over one, and a silent watch lives",
};
