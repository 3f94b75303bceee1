// Acting as somebody else.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const IMPERSONATION: BehaviourLines = {
  "I-01": "users, groups, uids and extras can be impersonated by those who may",
  "I-02": "without a user the rest is 500",
  "I-03": "a service account brings its groups, and everybody system:authenticated",
};
