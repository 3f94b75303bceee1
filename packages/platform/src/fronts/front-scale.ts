// How many fronts there are without --threads: looks at their load, begins and ends further ones, and moves connections to those that are new.

import type { Logger } from "@postern/apiserver/logging/logger";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { FrontDepartures } from "./front.ts";
import { type DemandTimes, FrontDemand, type FrontLoad, LOOK_MS, movesOf } from "./front-demand.ts";
import type { FrontSums } from "./front-methods.ts";
import type { FrontPlace } from "./front-place.ts";
import type { FrontThread } from "./front-thread.ts";

export type FrontScaleDeps = {
  readonly places: readonly FrontPlace[];
  /** That of the first front. */
  readonly departures: Pick<FrontDepartures, "staying" | "move">;
  /** For how long the event loop of the first has worked, in milliseconds. */
  readonly busyMs: () => number;
  /** As many fronts share the limits of the server. */
  readonly setFronts: (count: number) => void;
  readonly isMemoryShort: () => boolean;
  /** Whether one more, with all stored objects in memory, has room beside so many. */
  readonly hasRoom: (fronts: number) => boolean;
  readonly times?: DemandTimes | undefined;
  readonly logger: Logger;
  readonly clock: Pick<Clock, "elapsed">;
  readonly scheduler: Scheduler;
};

/** Connections move at so many looks after a front has begun. */
const MOVING_LOOKS = 30;
/** After one that did not start, no other begins for so long. */
const FAILED_MS = 300_000;

/** Key of the first front, which is no thread of its own. */
const FIRST = Symbol("first");

export class FrontScale implements Disposable {
  readonly #deps: FrontScaleDeps;
  readonly #demand: FrontDemand;
  #before = new Map<FrontThread | typeof FIRST, FrontSums>();
  #lookedAt: number;
  #moves = 0;
  #nextAt = 0;
  #looking: Disposable;
  #isOver = false;

  constructor(deps: FrontScaleDeps) {
    this.#deps = deps;
    this.#demand = new FrontDemand(deps.times);
    this.#lookedAt = deps.clock.elapsed();
    this.#loadsOf([]);
    this.#looking = this.#later();
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#looking[Symbol.dispose]();
  }

  #later(): Disposable {
    return this.#deps.scheduler.schedule(LOOK_MS, () => {
      this.#look();
      this.#looking = this.#later();
    });
  }

  #look(): void {
    const { places, departures, isMemoryShort } = this.#deps;
    const threads = places.flatMap(({ isServing, thread }) => (isServing && thread !== undefined ? [thread] : []));
    const loads = this.#loadsOf(threads);
    const need = this.#demand.look(loads);
    if (isMemoryShort()) this.#end((place) => place.close());
    else if (need === "more") this.#begin(loads.length);
    else if (need === "fewer") this.#end((place) => place.retire());
    if (this.#moves === 0) return;
    this.#moves -= 1;
    const [own = 0, ...others] = movesOf(loads);
    departures.move(own);
    for (const [at, count] of others.entries()) if (count > 0) threads[at]?.link.note("move", count);
  }

  #loadsOf(threads: readonly FrontThread[]): readonly FrontLoad[] {
    const { departures, busyMs, clock } = this.#deps;
    const now = clock.elapsed();
    const span = now - this.#lookedAt;
    const sums = new Map<FrontThread | typeof FIRST, FrontSums>([
      [FIRST, { busyMs: busyMs() | 0, connections: departures.staying }],
      ...threads.map((thread) => [thread, thread.sums] as const),
    ]);
    const loads = [...sums].map(([key, { busyMs, connections }]) => {
      // One that is new has worked on its start.
      const before = this.#before.get(key)?.busyMs ?? busyMs;
      return { busy: ((busyMs - before) | 0) / span, connections };
    });
    this.#before = sums;
    this.#lookedAt = now;
    return loads;
  }

  #begin(fronts: number): void {
    const { places, hasRoom, clock, logger } = this.#deps;
    // One that is starting, or ending, counts.
    const place = places.find(({ isEmpty }) => isEmpty);
    if (place === undefined || places.some(({ isStarting }) => isStarting)) return;
    if (clock.elapsed() < this.#nextAt || !hasRoom(fronts)) return;
    const started = place.start();
    this.count();
    started.then(
      () => {
        this.#moves = MOVING_LOOKS;
        logger.info({ component: "fronts" }, "a further thread serves requests");
      },
      (error: unknown) => {
        // The server stops, and ends one that is starting.
        if (this.#isOver) return;
        this.#nextAt = clock.elapsed() + FAILED_MS;
        logger.warn({ error, component: "fronts" }, "a further thread does not start");
      },
    );
  }

  /** The last of them. */
  #end(how: (place: FrontPlace) => Promise<void>): void {
    const { places, logger } = this.#deps;
    const place = places.findLast(({ isServing }) => isServing);
    if (place === undefined) return;
    void how(place).then(() => logger.info({ component: "fronts" }, "a further thread has ended"));
  }

  /** To be called when a place has become empty. Fronts that start or end have their part of the limits until nothing of them runs. */
  count(): void {
    const { places, setFronts } = this.#deps;
    setFronts(1 + places.filter(({ isEmpty }) => !isEmpty).length);
  }
}
