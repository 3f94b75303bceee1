// How many threads of a server that runs serve requests.

import type { Configuration } from "../../foundation/config/configuration.ts";
import { frontCount, type Machine } from "../../fronts/front-count.ts";
import { type Finding, ok } from "./finding.ts";

export const THREADS_CHECK = "threads";

/** `running`: as many do now, with those that begin or end; undefined: this server has one, and no more. */
export function checkThreads(
  configuration: Pick<Configuration, "threads" | "maxThreads" | "store">,
  machine: Machine,
  running: number | undefined,
): Finding {
  const { first, most } = frontCount(configuration, machine);
  const serve =
    running === undefined || running === 1 ? "1 thread serves requests" : `${running} threads serve requests`;
  return ok(
    THREADS_CHECK,
    running === undefined || most === first ? serve : `${serve}, and up to ${most} do under load`,
  );
}
