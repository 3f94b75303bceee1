// Work of controllers that is not recorded, for tests without an audit log.

import type { ControllerAudit } from "../chain/controller-audit.ts";

export const UNAUDITED: ControllerAudit = (context, _recorded, work) => work(context);
