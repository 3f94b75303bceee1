// Acting as somebody else.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const IMPERSONATION: BehaviourLines = {
  "I-01": "users, groups, uids and extras can be impersonated with permission",
  "I-02": "without a user the rest is 400",
  "I-03": "a service account has its groups, and every user system:authenticated",
};
