// Limits lines of the log, equal ones and all together: clients that can cause warnings or errors must not fill the disk, nor hide other
// lines among many.

import type { LogFields, Logger } from "../logging/logger.ts";
import type { Runtime } from "../runtime/clock.ts";
import { createRateLimiter } from "./rate-limiter.ts";

/** For each reason. The metrics count all. */
const LINES_AT_ONCE = 20;
const LINES_A_SECOND = 0.1;
/** For all reasons together. */
const ALL_AT_ONCE = 100;
const ALL_A_SECOND = 5;
/** The first line of a reason after so long a silence is written in any case: a flood of many reasons hides no new one. */
const SILENCE_MS = 60_000;
/** Lines that were left out are counted in the next line of their reason, or in a line of their own after so long. */
const REPORT_MS = 60_000;
/** Reasons that a report names, those with the most lines first. It counts the lines of all others together. */
const MOST_REPORTED = 20;
/** Reasons are places in the code, some with the name of an object: further names share one. */
const MAX_REASONS = 200;

export type LogLimitDeps = Pick<Runtime, "clock" | "scheduler"> & {
  /** Counts a line that was left out. */
  readonly onLeftOut?: (level: LimitedLevel) => void;
};

export type LimitedLevel = "warn" | "error";

type LeftOut = {
  count: number;
  readonly level: LimitedLevel;
  readonly component: string | undefined;
  readonly message: string;
};

/** The same log, without most of many equal warnings and errors. Disposing it writes how many were left out. */
export function withLogLimit(logger: Logger, { clock, scheduler, onLeftOut }: LogLimitDeps): Logger & Disposable {
  const limiter = createRateLimiter({ qps: LINES_A_SECOND, burst: LINES_AT_ONCE }, clock);
  const all = createRateLimiter({ qps: ALL_A_SECOND, burst: ALL_AT_ONCE }, clock);
  const lastWritten = new Map<string, number>();
  const leftOut = new Map<string, LeftOut>();
  const reasons = new Set<string>();
  let reporting: Disposable | undefined;

  function report(): void {
    reporting = undefined;
    const most = [...leftOut.values()].toSorted((a, b) => b.count - a.count);
    const others = { warn: 0, error: 0 };
    for (const { count, level } of most.slice(MOST_REPORTED)) others[level] += count;
    for (const { count, level, component, message } of most.slice(0, MOST_REPORTED)) {
      logger[level]({ ...(component === undefined ? {} : { component }), leftOut: count, cause: message }, LEFT_OUT);
    }
    for (const level of ["warn", "error"] as const) {
      if (others[level] > 0) logger[level]({ leftOut: others[level], cause: "other reasons" }, LEFT_OUT);
    }
    leftOut.clear();
  }

  function write(level: LimitedLevel, fields: LogFields, message: string): void {
    if (!logger.isLevelEnabled(level)) return;
    const reason = reasonOf(level, fields, message);
    if (!isWritten(reason)) {
      const { component } = fields;
      const before = leftOut.get(reason) ?? { count: 0, level, component, message };
      before.count += 1;
      leftOut.set(reason, before);
      onLeftOut?.(level);
      reporting ??= scheduler.schedule(REPORT_MS, report);
      return;
    }
    const before = leftOut.get(reason);
    leftOut.delete(reason);
    logger[level](before === undefined ? fields : { ...fields, leftOut: before.count }, message);
  }

  function isWritten(reason: string): boolean {
    if (limiter.delayOf(reason) !== undefined) return false;
    const isOverAll = all.delayOf(ALL) !== undefined;
    const now = clock.elapsed();
    const last = lastWritten.get(reason);
    if (isOverAll && last !== undefined && now - last < SILENCE_MS) {
      limiter.refund(reason);
      return false;
    }
    lastWritten.set(reason, now);
    return true;
  }

  function reasonOf(level: LimitedLevel, { component = "", error }: LogFields, message: string): string {
    const reason = `${level} ${component} ${message} ${placeOf(error)}`;
    if (reasons.has(reason)) return reason;
    if (reasons.size >= MAX_REASONS) return `${level} of many reasons`;
    reasons.add(reason);
    return reason;
  }

  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => write("warn", fields, message),
    error: (fields, message) => write("error", fields, message),
    isLevelEnabled: (level) => logger.isLevelEnabled(level),
    [Symbol.dispose]() {
      reporting?.[Symbol.dispose]();
      report();
    },
  };
}

/** The one subject of the limit for all. */
const ALL = "all";
const LEFT_OUT = "lines of the log were left out";

/** Where an error was made: clients choose texts, but not places in the code. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  const { stack = "" } = error;
  const at = stack.indexOf("\n    at ");
  return at < 0 ? error.name : stack.slice(at, stack.indexOf("\n", at + 1) + 1 || undefined);
}
