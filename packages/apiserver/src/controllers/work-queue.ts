// A work queue: each key is processed once at a time, and retried with backoff after errors.
// Source: k8s.io/client-go/util/workqueue/{queue,default_rate_limiters}.go

import { caught, throwLater } from "@postern/apimachinery/steps/caught";
import type { QueueMetrics, WorkQueueMetrics } from "../metrics/work-queue-metrics.ts";
import type { Clock, Runtime } from "../runtime/clock.ts";
import { type SharedTurn, sharedTurnOf } from "../runtime/shared-turn.ts";
import { createSharedAbortController } from "../storage/shared-abort-controller.ts";

/** Parts of the server that a queue needs. */
export type QueuePort = {
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
  /** Takes the faults of work that is tried again later. `subject`: the name of the queue and the key. */
  readonly onError: (error: unknown, subject: string) => void;
  /** Absent: nothing is counted. */
  readonly queueMetrics?: WorkQueueMetrics | undefined;
};

export type WorkQueueOptions = {
  /** The name that it is counted under, such as `namespace`. */
  readonly name: string;
  /** Does the work of one key. A rejection puts the key back after a delay. */
  readonly process: (key: string, signal: AbortSignal) => Promise<void>;
  /** How many keys without a lane are worked on at the same time; default 4. */
  readonly concurrency?: number;
  /**
   * The outside server that the work of a key waits for, such as the clusters of one tenant; default "": nothing. Each lane has places of its
   * own: those that do not answer, however many, hold up neither other lanes nor work without a lane.
   */
  readonly laneOf?: (key: string) => string;
  /** First delay after a failure, doubled with each further one; default 50 ms. */
  readonly baseDelayMs?: number;
  /** Default 5 minutes. */
  readonly maxDelayMs?: number;
};

/** Keys of one lane that are worked on at the same time; of a slow lane, one. */
const LANE_CONCURRENCY = 2;
/** Keys of all lanes together: each may hold a connection. */
const MAX_IN_LANES = 1_000;
/** Keys of slow lanes among them: the rest of the places stays free for other lanes. */
const MAX_IN_SLOW_LANES = 500;
/** A lane is slow after work that took this long, until work of it takes less. */
const SLOW_MS = 5_000;

/** The maximum rate for one key: controllers that undo each other's writes would otherwise loop at full speed. */
const RUNS_PER_SECOND = 100;

const DEFAULT_CONCURRENCY = 4;
const DEFAULT_BASE_DELAY_MS = 50;
const DEFAULT_MAX_DELAY_MS = 5 * 60_000;
const NO_LANE = (): string => "";

/** `dueAt` is a time of the clock's `elapsed`. */
type Delay = { readonly dueAt: number; readonly timer: Disposable };

export class WorkQueue implements Disposable {
  readonly #port: QueuePort;
  readonly #options: Required<WorkQueueOptions>;
  readonly #clock: Clock;
  readonly #metrics: QueueMetrics | undefined;
  /** Since when, by the clock's `elapsed`. */
  readonly #waiting = new Map<string, number>();
  readonly #running = new Map<string, number>();
  /** Waiting keys whose lane is not known yet. */
  readonly #laneless = new Set<string>();
  /**
   * All others by lane and folder; in both, the one whose turn it is comes first. The folder of a key is the namespace of its object: one with ten
   * thousand of them does not keep others waiting.
   */
  readonly #lanes = new Map<string, Map<string, Set<string>>>();
  /** How many keys are worked on, by lane. */
  readonly #runningIn = new Map<string, number>();
  readonly #slowLanes = new Set<string>();
  /** How many keys of slow lanes are worked on. */
  #runningInSlow = 0;
  readonly #delayed = new Map<string, Delay>();
  readonly #failures = new Map<string, number>();
  readonly #stop = createSharedAbortController();
  /** How often each key was worked on in the second that began then. */
  #counted = { since: 0, runs: new Map<string, number>() };
  readonly #turn: SharedTurn;
  #idlers: (() => void)[] = [];
  #pumping = false;

  constructor(port: QueuePort, options: WorkQueueOptions) {
    this.#port = port;
    this.#options = {
      concurrency: DEFAULT_CONCURRENCY,
      laneOf: NO_LANE,
      baseDelayMs: DEFAULT_BASE_DELAY_MS,
      maxDelayMs: DEFAULT_MAX_DELAY_MS,
      ...options,
    };
    this.#clock = port.runtime.clock;
    this.#turn = sharedTurnOf(this.#clock);
    this.#metrics = port.queueMetrics?.follow(options.name, () => ({
      depth: this.#waiting.size,
      running: [...this.#running.values()].map((since) => this.#secondsSince(since)),
    }));
  }

  /** Keys that wait their turn, without those that wait for a retry. */
  get length(): number {
    return this.#waiting.size;
  }

  /** Never runs the work within the call. A key that is being worked on is worked on once more afterwards. */
  add(key: string): void {
    if (this.#stop.signal.aborted) return;
    if (this.#waiting.has(key)) return;
    const delayMs = this.#delayOfTooMany(key);
    if (delayMs > 0) {
      // The retry of a failure may be planned for much later.
      const dueAt = this.#delayed.get(key)?.dueAt ?? Number.POSITIVE_INFINITY;
      if (dueAt > this.#clock.elapsed() + delayMs) this.addAfter(key, delayMs);
      return;
    }
    this.#cancelDelay(key);
    this.#waiting.set(key, this.#clock.elapsed());
    // A lane is found by looking into the object, which may be large: not where very many keys are added at once.
    if (this.#options.laneOf === NO_LANE) this.#enter("", key);
    else this.#laneless.add(key);
    this.#metrics?.added();
    this.#pumpSoon();
  }

  /** Adds the key after `delayMs`; an earlier delay of the same key is replaced. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stop.signal.aborted || this.#waiting.has(key)) return;
    this.#cancelDelay(key);
    this.#metrics?.retried();
    const timer = this.#port.runtime.scheduler.schedule(delayMs, () => {
      // Timers fire up to a millisecond early. Remove the delay first: `add` may have to set another one.
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { dueAt: this.#clock.elapsed() + delayMs, timer });
  }

  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idlers.push(resolve));
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.#waiting.clear();
    this.#laneless.clear();
    this.#lanes.clear();
    for (const { timer } of this.#delayed.values()) timer[Symbol.dispose]();
    this.#delayed.clear();
    this.#metrics?.[Symbol.dispose]();
    this.#tellIdlers();
  }

  #enter(lane: string, key: string): void {
    const folders = this.#lanes.get(lane) ?? new Map<string, Set<string>>();
    const folder = key.slice(0, key.lastIndexOf("/") + 1);
    this.#lanes.set(lane, folders.set(folder, (folders.get(folder) ?? new Set()).add(key)));
  }

  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(caught(this.#pumpAfterError, this.#pumpNow));
  }

  readonly #pumpNow = (): void => {
    this.#pumping = false;
    this.#pump();
  };

  /** An error must not hold up the keys that wait. */
  readonly #pumpAfterError = (error: unknown): void => {
    this.#pumping = false;
    this.#pumpInNextTurn();
    throwLater(error);
  };

  /** Milliseconds until the key may be worked on again. */
  #delayOfTooMany(key: string): number {
    const { since, runs } = this.#counted;
    if ((runs.get(key) ?? 0) < RUNS_PER_SECOND) return 0;
    return Math.max(0, since + 1000 - this.#clock.elapsed());
  }

  #countRun(key: string, now: number): void {
    if (now - this.#counted.since >= 1000) this.#counted = { since: now, runs: new Map() };
    this.#counted.runs.set(key, (this.#counted.runs.get(key) ?? 0) + 1);
  }

  #pumpInNextTurn(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    this.#turn.next().then(this.#pumpNow).catch(this.#pumpAfterError);
  }

  /** Work runs up to where it first waits. What waits for nothing runs on within the same turn of the event loop, and holds up all requests. */
  #pump(): void {
    for (;;) {
      if (this.#waiting.size > 0 && this.#turn.isOver()) {
        this.#pumpInNextTurn();
        return;
      }
      const [laneless] = this.#laneless;
      if (laneless !== undefined) {
        this.#laneless.delete(laneless);
        this.#enter(this.#options.laneOf(laneless), laneless);
        continue;
      }
      const next = this.#takeNext();
      if (next === undefined) break;
      const { key, lane } = next;
      this.#metrics?.waited(this.#secondsSince(this.#waiting.get(key) ?? 0));
      this.#waiting.delete(key);
      const startedAt = this.#clock.elapsed();
      this.#countRun(key, startedAt);
      this.#running.set(key, startedAt);
      this.#runningIn.set(lane, (this.#runningIn.get(lane) ?? 0) + 1);
      void this.#run(key, lane, startedAt);
    }
    this.#tellIdlers();
  }

  /** The first key of the next folder, in the next lane that has room. */
  #takeNext(): { readonly key: string; readonly lane: string } | undefined {
    for (const [lane, folders] of this.#lanes) {
      if (!this.#hasRoom(lane)) continue;
      for (const [folder, keys] of folders) {
        for (const key of keys) {
          if (this.#running.has(key)) continue;
          keys.delete(key);
          moveToEnd(folders, folder, keys);
          moveToEnd(this.#lanes, lane, folders);
          return { key, lane };
        }
      }
    }
    return undefined;
  }

  #hasRoom(lane: string): boolean {
    const here = this.#runningIn.get(lane) ?? 0;
    if (lane === "") return here < this.#options.concurrency;
    if (this.#running.size - (this.#runningIn.get("") ?? 0) >= MAX_IN_LANES) return false;
    if (!this.#slowLanes.has(lane)) return here < LANE_CONCURRENCY;
    return here === 0 && this.#runningInSlow < MAX_IN_SLOW_LANES;
  }

  async #run(key: string, lane: string, startedAt: number): Promise<void> {
    const isInSlow = this.#slowLanes.has(lane);
    if (isInSlow) this.#runningInSlow++;
    try {
      await this.#options.process(key, this.#stop.signal);
      this.#failures.delete(key);
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        this.#port.onError(error, `${this.#options.name} ${key}`);
        this.#retryLater(key);
      }
    }
    this.#running.delete(key);
    if (isInSlow) this.#runningInSlow--;
    if (lane !== "" && this.#clock.elapsed() - startedAt >= SLOW_MS) this.#slowLanes.add(lane);
    else this.#slowLanes.delete(lane);
    const others = (this.#runningIn.get(lane) ?? 1) - 1;
    if (others > 0) this.#runningIn.set(lane, others);
    else this.#runningIn.delete(lane);
    this.#metrics?.worked(this.#secondsSince(startedAt));
    this.#pump();
  }

  #retryLater(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const { baseDelayMs, maxDelayMs } = this.#options;
    this.addAfter(key, Math.min(baseDelayMs * 2 ** failures, maxDelayMs));
  }

  #secondsSince(since: number): number {
    return (this.#clock.elapsed() - since) / 1000;
  }

  #cancelDelay(key: string): void {
    this.#delayed.get(key)?.timer[Symbol.dispose]();
    this.#delayed.delete(key);
  }

  #isIdle(): boolean {
    return this.#waiting.size === 0 && this.#running.size === 0;
  }

  #tellIdlers(): void {
    if (!this.#isIdle()) return;
    const idlers = this.#idlers;
    this.#idlers = [];
    for (const resolve of idlers) resolve();
  }
}

/** Its next turn comes after those of all others. */
function moveToEnd<V extends { readonly size: number }>(map: Map<string, V>, name: string, rest: V): void {
  map.delete(name);
  if (rest.size > 0) map.set(name, rest);
}
