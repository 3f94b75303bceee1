// Whether a server can have the threads of its options, and how many serve requests while it runs.

import type { Configuration } from "../../foundation/config/configuration.ts";
import { faultOfThreads, frontCount, type Machine } from "../../fronts/front-count.ts";
import { type Finding, fault, ok, warning } from "./finding.ts";

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

/** A server that runs replaces these by its own: its Node, and its processors, may not be those of this command. */
export function checkThreadOptions(
  configuration: Pick<Configuration, "threads" | "maxThreads" | "store">,
  machine: Machine,
): readonly Finding[] {
  const why = faultOfThreads(configuration, machine);
  if (why !== undefined) return [fault(THREADS_CHECK, why, "correct it")];
  const { threads = 1 } = configuration;
  const { processors } = machine;
  if (threads <= processors) return [];
  const message = `--threads ${threads} is more than the ${processors} processors of this machine: further threads only take memory`;
  return [warning(THREADS_CHECK, message, "lower --threads")];
}
