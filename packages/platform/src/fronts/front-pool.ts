// The further fronts as the first one sees them: started, watched, started again when one ends, and closed.

import { hostname } from "node:os";
import type { Logger } from "@postern/apiserver/logging/logger";
import { createSeriesCounter } from "@postern/apiserver/metrics/counter-series";
import { Gauge } from "@postern/apiserver/metrics/gauge";
import { metricValuesOf } from "@postern/apiserver/metrics/merge-metrics";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { createLimitLocks } from "@postern/apiserver/registry/store/limit-locks";
import type { Clock, Random, Scheduler } from "@postern/apiserver/runtime/clock";
import { publishServer } from "@postern/stores/sqlite/server-table";
import type { GatherUses } from "../features/access-keys/periodic-writer.ts";
import { createUsedProofs, type UsedProof, type UsedProofs } from "../features/access-keys/proofs/used-proofs.ts";
import { type ActivitySnapshot, addActivity } from "../features/activity/activity-snapshot.ts";
import type { OpenedStore } from "../foundation/store/open-store.ts";
import type { ServingIdentity } from "../server/serving-identity.ts";
import { writeAudit } from "./audit-through-first.ts";
import type { FirstFront } from "./front.ts";
import type { FurtherFrontData } from "./front-methods.ts";
import { type FrontThread, type StartFrontThread, startFront } from "./front-thread.ts";
import { createThreadLimits, type ThreadLimits } from "./limits-of-threads.ts";
import { type FrontMetrics, lastingMetrics, sharedMetrics, sumMetrics } from "./sum-metrics.ts";

export type FrontPoolDeps = {
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

type Place = {
  readonly number: number;
  thread: FrontThread | undefined;
  startedAt: number;
  /** The next try waits for so long. */
  pauseMs: number;
  /** Its metrics at the last scrape. */
  latest: FrontMetrics;
};

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
/** After so long a thread is like any other again. */
const SOUND_MS = 60_000;
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

export function createFrontPool(deps: FrontPoolDeps): FirstFront & AsyncDisposable {
  const { data, metrics, logger, clock, scheduler, random } = deps;
  const { configuration, table } = data;
  const places: Place[] = Array.from({ length: configuration.threads - 1 }, (_, index) => ({
    number: index + 1,
    thread: undefined,
    startedAt: 0,
    pauseMs: FIRST_PAUSE_MS,
    latest: [],
  }));
  /** Counts of fronts that have ended. */
  let past: FrontMetrics = [];
  const usedProofs = createUsedProofs();
  const timers = new Set<Disposable>();
  const limitLocks = createLimitLocks();
  let parts: Parts | undefined;
  let serving: ServingIdentity | undefined;
  let isClosing = false;
  let closing: Promise<void> | undefined;
  const restarts = showFronts(metrics, () => 1 + places.filter(({ thread }) => thread?.isReady === true).length);
  const restartsBy = {
    stalled: restarts.series({ reason: "stalled" }),
    crashed: restarts.series({ reason: "crashed" }),
  };

  function begin(place: Place, given: Parts): FrontThread {
    const { port, serving: first, audit, link, activity, writeUses } = given;
    const { number } = place;
    place.startedAt = clock.elapsed();
    const store = deps.store();
    const connection = store.connect?.();
    const id = `${hostname()}-${process.pid}-${Buffer.from(random.bytes(6)).toString("hex")}`;
    const limits = createThreadLimits(limitLocks);
    const thread = startFront({
      startThread: deps.startThread,
      data: {
        ...data,
        isFront: true,
        number,
        id,
        port,
        serving: serving ?? first,
        ...(connection === undefined ? {} : { connection }),
      },
      calls: firstCalls({
        audit,
        link,
        usedProofs,
        scrape,
        activity: () => readActivity(activity()),
        gatherUses: async (uids) => void (await Promise.all([writeUses(uids), gatherUses(uids)])),
        limits,
      }),
      notes: { releaseLimits: limits.release },
      isMemoryShort: deps.isMemoryShort,
      scheduler,
      onEnd: (reason, error) => {
        // Nothing waits for it any more: neither revocations nor scrapes.
        publishServer(table, number, 0);
        store.forget?.(id).catch((error: unknown) => {
          logger.debug({ error, component: `front-${number}` }, "others wait until its lease expires");
        });
        past = lastingMetrics(past, place.latest);
        place.latest = [];
        place.thread = undefined;
        endLimits(limits);
        if (isClosing || !thread.wasReady) return;
        restartsBy[reason].inc();
        logger.error({ error, component: `front-${number}`, cause: reason }, "a front ended, and is started again");
        restart(place);
      },
      onError: (error) => logger.error({ error, component: `front-${number}` }, "a message of a front failed"),
    });
    place.thread = thread;
    return thread;
  }

  /** A write of the thread may still be on its way to the store: nothing is counted before. */
  function endLimits(limits: ThreadLimits): void {
    const later = scheduler.schedule(LAST_WRITE_MS, () => {
      timers.delete(later);
      limits[Symbol.dispose]();
    });
    timers.add(later);
  }

  function restart(place: Place): void {
    if (clock.elapsed() - place.startedAt > SOUND_MS) place.pauseMs = FIRST_PAUSE_MS;
    const later = scheduler.schedule(place.pauseMs, () => {
      timers.delete(later);
      if (isClosing || parts === undefined) return;
      begin(place, parts).ready.catch((error: unknown) => {
        if (isClosing) return;
        logger.error({ error, component: `front-${place.number}` }, "a front does not start");
        restart(place);
      });
    });
    timers.add(later);
    place.pauseMs = Math.min(place.pauseMs * 2, LONGEST_PAUSE_MS);
  }

  async function readMetrics(place: Place): Promise<void> {
    const { thread } = place;
    if (thread?.isReady !== true) return;
    const timeout = AbortSignal.timeout(SCRAPE_MS);
    try {
      const read = await thread.link.call("metrics", undefined, { signal: timeout });
      if (place.thread === thread) place.latest = sharedMetrics(read, place.number);
    } catch {
      // The last ones: a counter that goes back would count twice.
    }
  }

  async function scrape(): Promise<string> {
    const [own] = await Promise.all([metricValuesOf(metrics.registry), ...places.map(readMetrics)]);
    return await sumMetrics([own, ...places.map(({ latest }) => latest), past]);
  }

  /** A front that stands still is left out. */
  async function readActivity(own: ActivitySnapshot): Promise<ActivitySnapshot> {
    const others = await Promise.all(
      places.map(async ({ thread }) => {
        if (thread?.isReady !== true) return [];
        const signal = AbortSignal.timeout(SCRAPE_MS);
        return await thread.link.call("activity", undefined, { signal }).catch(() => []);
      }),
    );
    return addActivity(own, ...others.flat());
  }

  const gatherUses: GatherUses = async (uids) => {
    const signal = AbortSignal.timeout(GATHER_MS);
    await Promise.all(
      places.map(({ thread }) =>
        thread?.isReady === true ? thread.link.call("writeUses", uids, { signal }).catch(() => undefined) : undefined,
      ),
    );
  };

  function close(): Promise<void> {
    isClosing = true;
    closing ??= Promise.all(places.map(({ thread }) => thread?.close())).then(() => undefined);
    return closing;
  }

  return {
    isFirst: true,
    ticketKeys: data.ticketKeys,
    usedProofs,
    async start(given) {
      parts = given;
      await Promise.all(places.map((place) => begin(place, given).ready));
    },
    replaceServing(next) {
      serving = next;
      for (const { thread } of places) thread?.link.note("serving", next);
    },
    scrape,
    readActivity,
    gatherUses,
    limitLocks,
    beginClose: () => void close(),
    closed: close,
    async [Symbol.asyncDispose]() {
      isClosing = true;
      await Promise.all(places.map(({ thread }) => thread?.terminate()));
      // The end of a thread plans when its locks are free.
      for (const timer of timers) timer[Symbol.dispose]();
    },
  };
}

const firstCalls = ({
  audit,
  link,
  usedProofs,
  scrape,
  activity,
  gatherUses,
  limits,
}: Pick<Parts, "audit" | "link"> & {
  readonly usedProofs: UsedProofs;
  readonly scrape: () => Promise<string>;
  readonly activity: () => Promise<ActivitySnapshot>;
  readonly gatherUses: GatherUses;
  readonly limits: ThreadLimits;
}) => ({
  async audit(lines: string): Promise<undefined> {
    await writeAudit(audit, lines);
  },
  isLinkValid: (secret: string) => link.isValid(secret),
  takeLink: (secret: string) => link.take(secret),
  takeProof: (proof: UsedProof) => usedProofs.take(proof),
  async gatherUses(uids: readonly string[] | undefined): Promise<undefined> {
    await gatherUses(uids);
  },
  holdLimits: limits.hold,
  scrape,
  activity,
});
