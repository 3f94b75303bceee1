// The place of one further front: a thread is started in it, started again when it ends by itself, and ended when it is not needed.

import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { FrontEnd, FrontThread } from "./front-thread.ts";

export type FrontPlaceDeps = {
  /** Starts a thread. `onEnd` is called once, when nothing of it runs any more. */
  readonly begin: (onEnd: (reason: FrontEnd, error: unknown) => void) => FrontThread;
  /** A thread that served ended by itself. Another is started. */
  readonly onLost: (reason: FrontEnd, error: unknown) => void;
  /** Nothing runs in the place any more, and nothing is started. */
  readonly onEmpty: () => void;
  /** A thread did not start. Another is tried. */
  readonly onFailure: (error: unknown) => void;
  readonly clock: Pick<Clock, "elapsed">;
  readonly scheduler: Scheduler;
};

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
/** So many threads may end while the place starts, one after the other: any of them may be ended from outside. */
const TRIES = 3;
/** After so long a thread is like any other again. */
const SOUND_MS = 60_000;

/** `starting`: for the first time. `kept`: another thread takes the place of one that ends, also while that starts. */
type State = "empty" | "starting" | "kept" | "ending";

export class FrontPlace {
  readonly #deps: FrontPlaceDeps;
  #state: State = "empty";
  #thread: FrontThread | undefined;
  #startedAt = 0;
  /** The next try waits for so long. */
  #pauseMs = FIRST_PAUSE_MS;
  #waiting: Disposable | undefined;
  #start: { readonly resolve: () => void; readonly reject: (error: unknown) => void } | undefined;
  #triesLeft = 0;

  constructor(deps: FrontPlaceDeps) {
    this.#deps = deps;
  }

  /** The thread while it answers calls. */
  get thread(): FrontThread | undefined {
    return this.#thread?.isReady === true ? this.#thread : undefined;
  }

  /** Whether it takes new connections. */
  get isServing(): boolean {
    return this.#state === "kept" && this.thread !== undefined;
  }

  get isStarting(): boolean {
    return this.#state === "starting";
  }

  /** Whether nothing of it runs, and nothing is started. */
  get isEmpty(): boolean {
    return this.#state === "empty";
  }

  /** The place is empty. Resolves once a thread serves. Rejects with the error of the last one where three do not start: the place is empty again then. */
  start(): Promise<void> {
    this.#state = "starting";
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#triesLeft = TRIES;
    return new Promise((resolve, reject) => {
      this.#start = { resolve, reject };
      this.#try();
    });
  }

  /** Its connections end behind their requests, then as with `close`. */
  retire(): Promise<void> {
    return this.#end((thread) => thread.retire());
  }

  /** Resolves once its requests are finished, and nothing of it runs. */
  close(): Promise<void> {
    return this.#end((thread) => thread.close());
  }

  terminate(): Promise<void> {
    return this.#end((thread) => thread.terminate());
  }

  async #end(how: (thread: FrontThread) => Promise<void>): Promise<void> {
    this.#waiting?.[Symbol.dispose]();
    this.#waiting = undefined;
    if (this.#thread === undefined) {
      this.#becomeEmpty(new Error("the thread was ended before it started"));
      return;
    }
    this.#state = "ending";
    await how(this.#thread);
  }

  #becomeEmpty(error: unknown): void {
    this.#state = "empty";
    this.#deps.onEmpty();
    this.#start?.reject(error);
    this.#start = undefined;
  }

  #serve(): void {
    if (this.#state === "starting") this.#state = "kept";
    this.#start?.resolve();
    this.#start = undefined;
  }

  /** Throws where the system has no room for a thread. */
  #begin(): void {
    this.#startedAt = this.#deps.clock.elapsed();
    const thread = this.#deps.begin((reason, error) => {
      this.#thread = undefined;
      // Not before: both have one place in the table of servers.
      if (thread.wasReady && this.#state === "kept") this.#tryLater(() => this.#deps.onLost(reason, error));
      else this.#afterFailure(error, reason);
    });
    this.#thread = thread;
    thread.ready.then(
      () => this.#serve(),
      () => undefined,
    );
  }

  #try(): void {
    try {
      this.#begin();
    } catch (error) {
      this.#afterFailure(error);
    }
  }

  /** One that stood still has had its time. */
  #afterFailure(error: unknown, reason?: FrontEnd): void {
    const mayTry = this.#state === "starting" && reason !== "stalled" && --this.#triesLeft > 0;
    if (this.#state === "kept" || mayTry) this.#tryLater(() => this.#deps.onFailure(error));
    else this.#becomeEmpty(error);
  }

  #tryLater(report: () => void): void {
    const { clock, scheduler } = this.#deps;
    if (clock.elapsed() - this.#startedAt > SOUND_MS) this.#pauseMs = FIRST_PAUSE_MS;
    this.#waiting = scheduler.schedule(this.#pauseMs, () => {
      this.#waiting = undefined;
      this.#try();
    });
    this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
    report();
  }
}
