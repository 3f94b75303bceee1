// Work of controllers that is not recorded, for tests without an audit log.

import type { ControllerAudit } from "../chain/controller-audit.ts";

export const UNAUDITED: ControllerAudit = (context, _recorded, work) => work(context);

/** Adds the verb and the path of each event to `recorded`. */
export const auditedInto =
  (recorded: string[]): ControllerAudit =>
  async (context, { requestUri }, work) => {
    const result = await work(context);
    if (result !== undefined) recorded.push(`${context.info.verb} ${requestUri}`);
    return result;
  };
