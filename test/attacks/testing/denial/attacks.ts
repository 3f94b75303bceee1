// All attacks on the availability of a server.

import type { Attack } from "./attack.ts";
import { CLUSTER_ATTACKS } from "./cluster-attacks.ts";
import { CONNECTION_ATTACKS } from "./connection-attacks.ts";
import { FRAME_ATTACKS } from "./frame-attacks.ts";
import { REQUEST_ATTACKS } from "./request-attacks.ts";

export const ATTACKS: readonly Attack[] = [
  ...CONNECTION_ATTACKS,
  ...FRAME_ATTACKS,
  ...REQUEST_ATTACKS,
  ...CLUSTER_ATTACKS,
];
