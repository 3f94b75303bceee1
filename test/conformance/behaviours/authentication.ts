// Who somebody is.

import type { BehaviourLines } from "./behaviour-lines.ts";

export const AUTHENTICATION: BehaviourLines = {
  "A-01": "a bearer token; a wrong one is 401 on every path, none is the anonymous user",
  "A-02": "passwords are not looked at",
  "A-03": "a client certificate names user and groups",
  "A-04": "who is authenticated is in system:authenticated",
  "A-05": "a key that is disabled or over is 401",
};
