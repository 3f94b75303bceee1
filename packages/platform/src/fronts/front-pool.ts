// The further fronts as the first one sees them: what it gives them, and what it adds up.

import { hostname } from "node:os";
import type { Logger } from "@postern/apiserver/logging/logger";
import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import { metricValuesOf } from "@postern/apiserver/metrics/merge-metrics";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { createLimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { Clock, Random, Scheduler } from "@postern/apiserver/runtime/clock";
import { publishServer } from "@postern/stores/sqlite/server-table";
import type { GatherUses } from "../features/access-keys/last-use/periodic-writer.ts";
import { createUsedProofs } from "../features/access-keys/proofs/used-proofs.ts";
import type { ActivitySnapshot } from "../features/activity/activity-snapshot.ts";
import type { ServerActivity } from "../features/activity/server-activity.ts";
import type { CallHandlers } from "../features/virtual-clusters/embedded/threads/messages/link.ts";
import { createThreadLimits, type ThreadLimits } from "../foundation/store/limits-of-threads.ts";
import type { OpenedStore } from "../foundation/store/open-store.ts";
import type { ServingIdentity } from "../server/serving-identity.ts";
import { writeAudit } from "./audit-through-first.ts";
import type { FirstFront, FrontDepartures } from "./front.ts";
import type { FrontCount } from "./front-count.ts";
import type { DemandTimes } from "./front-demand.ts";
import type { FirstCalls, FurtherFrontData } from "./front-methods.ts";
import { FrontPlace } from "./front-place.ts";
import { FrontScale } from "./front-scale.ts";
import { setFronts } from "./front-share.ts";
import { type FrontEnd, type FrontThread, type StartFrontThread, startFront } from "./front-thread.ts";
import { type FrontMetrics, lastingMetrics, sharedMetrics, sumMetrics } from "./sum-metrics.ts";

export type FrontPoolDeps = {
  readonly count: FrontCount;
  /** Of the process. */
  readonly limitBytes: number;
  readonly demandTimes?: DemandTimes | undefined;
  readonly data: Omit<FurtherFrontData, "isFront" | "number" | "id" | "port" | "serving" | "connection" | "state">;
  readonly store: () => Pick<OpenedStore, "connect" | "forget">;
  readonly startThread: StartFrontThread;
  readonly metrics: Pick<ServerMetrics, "registry">;
  readonly isMemoryShort: () => boolean;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly random: Random;
};

/** The start of the first front gives these. */
type Parts = Parameters<FirstFront["start"]>[0];

/** A further front begins where so much of the memory is enough for all, each as large as those that run. */
const ROOM_PART = 0.7;
const LAST_WRITE_MS = 1_000;
/** A scrape does not wait longer for a front. */
const SCRAPE_MS = 2_000;
/** A request that shows last uses does not wait longer for a front to write them. */
const GATHER_MS = 2_000;

/** Shows that there is one front where there is no pool. */
export function showFronts({ registry }: Pick<ServerMetrics, "registry">, running: () => number) {
  new Gauge({
    name: "postern_fronts",
    help: "Threads that serve requests",
    registers: [registry],
    collect() {
      this.set(running());
    },
  });
  return createSeriesCounter({
    name: "postern_front_restarts_total",
    help: "Threads that served requests and ended, by reason: stalled or crashed. Another has taken the place",
    labelNames: ["reason"],
    fromZero: true,
    registers: [registry],
  });
}

/** A place, with the metrics of its thread at the last scrape. */
type Seat = { readonly number: number; readonly place: FrontPlace; latest: FrontMetrics };

export class FrontPool implements FirstFront, AsyncDisposable {
  readonly isFirst = true;
  readonly ticketKeys: Uint8Array;
  readonly usedProofs = createUsedProofs();
  readonly limitLocks = createLimitLocks();
  readonly #deps: FrontPoolDeps;
  readonly #seats: readonly Seat[];
  /** Counts of fronts that have ended. */
  #past: FrontMetrics = [];
  /** Locks of threads that have ended. */
  readonly #locked = new Set<Disposable>();
  #parts: Parts | undefined;
  #serving: ServingIdentity | undefined;
  #closing: Promise<void> | undefined;
  /** Undefined: the number of fronts is fixed, or they are starting. */
  #scale: FrontScale | undefined;

  constructor(deps: FrontPoolDeps) {
    this.#deps = deps;
    this.ticketKeys = deps.data.ticketKeys;
    this.#seats = Array.from({ length: deps.count.most - 1 }, (_, index) => this.#seatOf(index + 1));
    const restarts = showFronts(deps.metrics, () => 1 + this.#seats.filter(({ place }) => place.isServing).length);
    this.#restarts = {
      stalled: restarts.series({ reason: "stalled" }),
      crashed: restarts.series({ reason: "crashed" }),
    };
  }
  readonly #restarts: Readonly<Record<FrontEnd, { inc(): void }>>;

  async start(parts: Parts): Promise<void> {
    this.#parts = parts;
    const { first, most } = this.#deps.count;
    await Promise.all(this.#seats.slice(0, first - 1).map(({ place }) => place.start()));
    if (most > first) this.#scale = this.#scaleOf(parts.departures);
  }

  #scaleOf(departures: FrontDepartures): FrontScale {
    const { data, limitBytes, demandTimes, isMemoryShort, logger, clock, scheduler } = this.#deps;
    return new FrontScale({
      places: this.#seats.map(({ place }) => place),
      departures,
      busyMs: () => performance.eventLoopUtilization().active,
      setFronts: (count) => setFronts(data.share, count),
      isMemoryShort,
      hasRoom: (fronts) => process.memoryUsage.rss() * (1 + 1 / fronts) < ROOM_PART * limitBytes,
      times: demandTimes,
      logger,
      clock,
      scheduler,
    });
  }

  // The functions of the port are passed on without their object.
  replaceServing = (serving: ServingIdentity): void => {
    this.#serving = serving;
    for (const { place } of this.#seats) place.thread?.link.note("serving", serving);
  };

  scrape = async (): Promise<string> => {
    const [own] = await Promise.all([
      metricValuesOf(this.#deps.metrics.registry),
      ...this.#seats.map((seat) => this.#readMetrics(seat)),
    ]);
    return await sumMetrics([own, ...this.#seats.map(({ latest }) => latest), this.#past]);
  };

  /** A front that stands still is left out. */
  readActivity = async (own: Pick<ServerActivity, "read">): Promise<ActivitySnapshot> => {
    const signal = AbortSignal.timeout(SCRAPE_MS);
    await this.#askAll(({ link }) => link.call("handOverActivity", undefined, { signal }));
    return own.read();
  };

  gatherUses: GatherUses = async (uids) => {
    const signal = AbortSignal.timeout(GATHER_MS);
    await this.#askAll(({ link }) => link.call("writeUses", uids, { signal }));
  };

  beginClose(): void {
    void this.closed();
  }

  closed(): Promise<void> {
    this.#scale?.[Symbol.dispose]();
    this.#closing ??= Promise.all(this.#seats.map(({ place }) => place.close())).then(() => undefined);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#scale?.[Symbol.dispose]();
    await Promise.all(this.#seats.map(({ place }) => place.terminate()));
    // The end of a thread plans when its locks are free.
    for (const timer of this.#locked) timer[Symbol.dispose]();
  }

  #seatOf(number: number): Seat {
    const { logger, clock, scheduler } = this.#deps;
    const component = `front-${number}`;
    const place = new FrontPlace({
      begin: (onEnd) => this.#begin(seat, onEnd),
      onLost: (reason, error) => {
        this.#restarts[reason].inc();
        logger.error({ error, component, cause: reason }, "a front ended, and is started again");
      },
      onEmpty: () => this.#scale?.count(),
      onFailure: (error) => logger.error({ error, component }, "a front does not start"),
      clock,
      scheduler,
    });
    const seat: Seat = { number, place, latest: [] };
    return seat;
  }

  #begin(seat: Seat, onEnd: (reason: FrontEnd, error: unknown) => void): FrontThread {
    const { data, clock, scheduler, random, logger, startThread, isMemoryShort } = this.#deps;
    const { number } = seat;
    const parts = this.#parts;
    if (parts === undefined) throw new Error("a front begins once the first one serves");
    const { activity } = parts;
    const store = this.#deps.store();
    const connection = store.connect?.();
    const id = `${hostname()}-${process.pid}-${Buffer.from(random.bytes(6)).toString("hex")}`;
    const limits = createThreadLimits(this.limitLocks);
    return startFront({
      startThread,
      data: {
        ...data,
        isFront: true,
        number,
        id,
        port: parts.port,
        serving: this.#serving ?? parts.serving,
        ...(connection === undefined ? {} : { connection }),
      },
      calls: this.#callsOf(parts, limits),
      notes: { releaseLimits: limits.release, activity: (part) => activity.add(part, number) },
      isMemoryShort,
      clock,
      scheduler,
      onLastMetrics: (metrics) => {
        seat.latest = sharedMetrics(metrics, number);
      },
      onEnd: (reason, error) => {
        // Nothing waits for it any more: neither revocations nor scrapes.
        publishServer(data.table, number, 0);
        store.forget?.(id).catch((failure: unknown) => {
          logger.debug({ error: failure, component: `front-${number}` }, "others wait until its lease expires");
        });
        this.#past = lastingMetrics(this.#past, seat.latest);
        seat.latest = [];
        activity.end(number);
        this.#endLimits(limits);
        onEnd(reason, error);
      },
      onError: (error) => logger.error({ error, component: `front-${number}` }, "a message of a front failed"),
    });
  }

  #callsOf({ audit, link, activity, writeUses }: Parts, limits: ThreadLimits): CallHandlers<FirstCalls> {
    return {
      audit: (sent) => writeAudit(audit, sent),
      isLinkValid: (secret) => link.isValid(secret),
      takeLink: (secret) => link.take(secret),
      takeProof: (proof) => this.usedProofs.take(proof),
      gatherUses: async (uids) => {
        await Promise.all([writeUses(uids), this.gatherUses(uids)]);
        return undefined;
      },
      holdLimits: limits.hold,
      scrape: this.scrape,
      activity: () => this.readActivity(activity),
    };
  }

  /** A write of the thread may still be on its way to the store: nothing is counted before. */
  #endLimits(limits: ThreadLimits): void {
    const later = this.#deps.scheduler.schedule(LAST_WRITE_MS, () => {
      this.#locked.delete(later);
      limits[Symbol.dispose]();
    });
    this.#locked.add(later);
  }

  async #readMetrics(seat: Seat): Promise<void> {
    const { thread } = seat.place;
    if (thread === undefined) return;
    const timeout = AbortSignal.timeout(SCRAPE_MS);
    try {
      const read = await thread.link.call("metrics", undefined, { signal: timeout });
      if (seat.place.thread === thread) seat.latest = sharedMetrics(read, seat.number);
    } catch {
      // The last ones: a counter that goes back would count twice.
    }
  }

  /** The answers of all that give one. */
  async #askAll<T>(ask: (thread: FrontThread) => Promise<T>): Promise<readonly T[]> {
    const asked = this.#seats.flatMap(({ place: { thread } }) => (thread === undefined ? [] : [ask(thread)]));
    return (await Promise.allSettled(asked)).flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }
}
