// Keys to be worked on: each once at a time, and again after a growing delay when the work failed.
// Source: k8s.io/client-go/util/workqueue/{queue,default_rate_limiters}.go

import type { Scheduler } from "../runtime/clock.ts";

export type WorkQueueOptions = {
  readonly scheduler: Scheduler;
  /** Does the work of one key. A rejection puts the key back after a delay. */
  readonly process: (key: string, signal: AbortSignal) => Promise<void>;
  readonly onError: (error: unknown, key: string) => void;
  /** How many keys are worked on at the same time; default 4. */
  readonly concurrency?: number;
  /** First delay after a failure, doubled with each further one; default 50 ms. */
  readonly baseDelayMs?: number;
  /** Default 5 minutes. */
  readonly maxDelayMs?: number;
};

const DEFAULT_CONCURRENCY = 4;
const DEFAULT_BASE_DELAY_MS = 50;
const DEFAULT_MAX_DELAY_MS = 5 * 60_000;

export class WorkQueue implements Disposable {
  readonly #options: Required<WorkQueueOptions>;
  readonly #waiting = new Set<string>();
  readonly #running = new Set<string>();
  readonly #delayed = new Map<string, Disposable>();
  readonly #failures = new Map<string, number>();
  readonly #stop = new AbortController();
  #idlers: (() => void)[] = [];
  #pumping = false;

  constructor(options: WorkQueueOptions) {
    this.#options = {
      concurrency: DEFAULT_CONCURRENCY,
      baseDelayMs: DEFAULT_BASE_DELAY_MS,
      maxDelayMs: DEFAULT_MAX_DELAY_MS,
      ...options,
    };
  }

  /** Keys that wait their turn, without those that wait for a retry. */
  get length(): number {
    return this.#waiting.size;
  }

  /** Never runs the work within the call. A key that is being worked on is worked on once more afterwards. */
  add(key: string): void {
    if (this.#stop.signal.aborted) return;
    this.#cancelDelay(key);
    this.#waiting.add(key);
    this.#pumpSoon();
  }

  /** Adds the key after `delayMs`; an earlier delay of the same key is replaced. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stop.signal.aborted || this.#waiting.has(key)) return;
    this.#cancelDelay(key);
    this.#delayed.set(
      key,
      this.#options.scheduler.schedule(delayMs, () => this.add(key)),
    );
  }

  idle(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise((resolve) => this.#idlers.push(resolve));
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    this.#waiting.clear();
    for (const handle of this.#delayed.values()) handle[Symbol.dispose]();
    this.#delayed.clear();
    this.#tellIdlers();
  }

  #pumpSoon(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    queueMicrotask(() => {
      this.#pumping = false;
      this.#pump();
    });
  }

  #pump(): void {
    for (const key of this.#waiting) {
      if (this.#running.size >= this.#options.concurrency) return;
      if (this.#running.has(key)) continue;
      this.#waiting.delete(key);
      this.#running.add(key);
      void this.#run(key);
    }
    this.#tellIdlers();
  }

  async #run(key: string): Promise<void> {
    try {
      await this.#options.process(key, this.#stop.signal);
      this.#failures.delete(key);
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        this.#options.onError(error, key);
        this.#retryLater(key);
      }
    }
    this.#running.delete(key);
    this.#pump();
  }

  #retryLater(key: string): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const { baseDelayMs, maxDelayMs } = this.#options;
    this.addAfter(key, Math.min(baseDelayMs * 2 ** failures, maxDelayMs));
  }

  #cancelDelay(key: string): void {
    this.#delayed.get(key)?.[Symbol.dispose]();
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
