// Identity of the caller.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const AUTHENTICATION: BehaviourLines = {
  "A-01": "a bearer token authenticates; a wrong one is 401 on every path, no token means the anonymous user",
  "A-02": "basic authentication is ignored",
  "A-03": "a client certificate names user and groups",
  "A-04": "authenticated users are in system:authenticated",
  "A-05": "a disabled or expired key is 401",
};
