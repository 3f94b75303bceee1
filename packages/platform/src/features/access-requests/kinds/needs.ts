// Features that the kinds of access requests are made of, and the parts that they share with each other and with the controller.

import type { StatusWrites } from "../../../foundation/kinds/status-writes.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { AccessRequests } from "../feature.ts";
import type { AccessCheck } from "./access-check.ts";
import type { AnnounceAccess } from "./access-requests/announce-access.ts";

export type AccessRequestNeeds = {
  readonly access: AccessRequests;
  readonly keys: AccessKeys;
  readonly directory: Directory;
  readonly authorization: Authorization;
};

export type AccessRequestParts = {
  readonly check: AccessCheck;
  readonly writes: StatusWrites;
  readonly announce: AnnounceAccess;
};
