// Detects when the event loop is blocked, for example by one long request, and reports it in metrics and log with the requests in progress.

import type { Registry } from "prom-client";
import type { Logger } from "../logging/logger.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { Clock, Scheduler } from "../runtime/clock.ts";
import { SeriesHistogram } from "./series-histogram.ts";

export type RequestUnderWay = {
  readonly info: Pick<RequestInfo, "verb" | "apiGroup" | "apiVersion" | "resource" | "subresource">;
  readonly audit: { readonly auditId: string };
  /** Whether there is such a resource. Any other text of a path may hold a secret, and is not logged. */
  readonly isServed: (info: RequestUnderWay["info"]) => boolean;
};

export type EventLoopLag = {
  began(request: RequestUnderWay): void;
  ended(request: RequestUnderWay): void;
  /** Measures until it is disposed. */
  start(deps: EventLoopLagDeps): Disposable;
};

export type EventLoopLagDeps = {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly logger: Pick<Logger, "warn">;
  /** Milliseconds of processor time that the process has used. */
  readonly processorMs: () => number;
};

/** Shorter delays are no stall. */
export const STALL_MS = 50;
/** Shorter stalls are only counted: logging each would drown everything else. */
const LOGGED_MS = 250;
const TICK_MS = 20;
const MAX_NAMED = 10;
const BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createEventLoopLag(registry: Registry): EventLoopLag {
  const underWay = new Set<RequestUnderWay>();
  /** Requests since the last tick: the one that blocked the loop has often been answered when the lag is noticed. */
  let answered: RequestUnderWay[] = [];
  let isMeasured = false;
  const histogram = new SeriesHistogram({
    name: "apiserver_event_loop_stall_seconds",
    help: "Stalls of the event loop of 50 ms and more: from its own work, or waiting for a CPU",
    labelNames: ["cause"],
    buckets: BUCKETS,
    registers: [registry],
  });
  const series = { work: histogram.series({ cause: "work" }), waiting: histogram.series({ cause: "waiting" }) };

  const log = (logger: EventLoopLagDeps["logger"], late: number, work: number): void => {
    const requests = [...answered, ...[...underWay].reverse()].slice(0, MAX_NAMED).map(describe).join(", ");
    const figures = { stallMs: Math.round(late), processorMs: Math.round(work), requests };
    logger.warn({ component: "event-loop", ...figures }, "the event loop was blocked");
  };

  return {
    began: (request) => void underWay.add(request),
    ended(request) {
      // Requests are collected only while the lag is measured.
      if (underWay.delete(request) && isMeasured && answered.length < MAX_NAMED) answered.push(request);
    },
    start({ clock, scheduler, logger, processorMs }) {
      isMeasured = true;
      let due = clock.elapsed() + TICK_MS;
      let used = processorMs();
      let next: Disposable | undefined;
      const tick = (): void => {
        const late = clock.elapsed() - due;
        const work = processorMs() - used;
        if (late >= STALL_MS) {
          // A machine that is busy with others, or that slept, makes the loop late as well.
          const cause = work >= late / 2 ? "work" : "waiting";
          series[cause].observe(late / 1000);
          if (cause === "work" && late >= LOGGED_MS) log(logger, late, work);
        }
        answered = [];
        due = clock.elapsed() + TICK_MS;
        used = processorMs();
        next = scheduler.schedule(TICK_MS, tick);
      };
      next = scheduler.schedule(TICK_MS, tick);
      return {
        [Symbol.dispose]() {
          isMeasured = false;
          next?.[Symbol.dispose]();
        },
      };
    },
  };
}

/** Such as `create secrets (c5f4…)`. The audit log says the rest about the request of that identifier. */
function describe({ info, audit, isServed }: RequestUnderWay): string {
  const { verb, apiGroup, resource } = info;
  const kind = apiGroup === "" ? resource : `${resource}.${apiGroup}`;
  return `${verb}${resource !== "" && isServed(info) ? ` ${kind}` : ""} (${audit.auditId})`;
}
