// Sends the events of the audit log to a receiver, as kube-apiserver does, but from the log: a receiver that was away, or a server that was, loses none.
// Each event is sent at least once, in the order of the log.
// Source: k8s.io/apiserver/plugin/pkg/audit/webhook

import type { Logger } from "@postern/apiserver/logging/logger";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import { systemErrorCode } from "../../../foundation/pki/private-file.ts";
import type { EventReceiver } from "./event-receiver.ts";
import { LogFollower, type LogPosition } from "./log-follower.ts";

export type AuditWebhook = AsyncDisposable & {
  /** Lines have been added to the log. */
  onWritten(): void;
};

export type AuditWebhookMetrics = {
  /** `refused`: too large for the receiver, and not sent again. */
  events(result: "delivered" | "refused", count: number): void;
  /** A file of the log was deleted before its events were sent. */
  gap(): void;
  /** `seconds` since all events were delivered; 0: they are. */
  gaugeBehind(seconds: () => number): void;
};

export type AuditWebhookDeps = {
  /** Of the log. */
  readonly path: string;
  /** Where the log was read up to; undefined: send what comes from now on. */
  readonly position: LogPosition | undefined;
  /** Everything before it has been delivered. */
  readonly savePosition: (position: LogPosition) => Promise<void>;
  readonly receiver: EventReceiver;
  /** In one request. */
  readonly mostEvents: number;
  readonly runtime: Pick<Runtime, "clock" | "scheduler">;
  readonly metrics: AuditWebhookMetrics;
  readonly logger: Pick<Logger, "info" | "warn" | "error">;
};

/** Of events in one request, unless one is longer. */
const MOST_BYTES = 1 << 20;
/** Events of this time go together. */
const GATHER_MS = 1_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** For what is not delivered yet when the server ends. */
const LAST_MS = 5_000;
const TOO_LARGE = 413;

/** Rejects where the log cannot be read. */
export async function startAuditWebhook(deps: AuditWebhookDeps): Promise<AuditWebhook> {
  const follower = await LogFollower.open(deps.path, deps.position);
  // A server that is killed before its first delivery begins there again.
  if (deps.position === undefined) await deps.savePosition(follower.position);
  return new Delivery(deps, follower);
}

class Delivery implements AuditWebhook {
  readonly #deps: AuditWebhookDeps;
  readonly #follower: LogFollower;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;
  #isClosing = false;
  #hasNews = true;
  #wake: (() => void) | undefined;
  /** `elapsed` of the first look at events that are not delivered. */
  #behindSince: number | undefined;
  /** Since all events were delivered. */
  #hasFailed = false;
  #mostEvents: number;
  #pauseMs = FIRST_PAUSE_MS;

  constructor(deps: AuditWebhookDeps, follower: LogFollower) {
    this.#deps = deps;
    this.#follower = follower;
    this.#mostEvents = deps.mostEvents;
    const { clock } = deps.runtime;
    deps.metrics.gaugeBehind(() =>
      this.#behindSince === undefined ? 0 : (clock.elapsed() - this.#behindSince) / 1_000,
    );
    this.#running = this.#run();
  }

  onWritten(): void {
    this.#hasNews = true;
    this.#wake?.();
  }

  async #run(): Promise<void> {
    for (;;) {
      this.#hasNews = false;
      try {
        const sent = await this.#sendNext();
        if (sent === "some") continue;
        if (sent === "nothing" && this.#isClosing) return;
        if (sent === "nothing" && !this.#hasNews) await this.#pause(undefined);
        // Also where lines come all the time: each request costs a write to the disk as well.
        await this.#pause(GATHER_MS);
      } catch (error) {
        if (this.#isClosing) return;
        this.#hasFailed = true;
        this.#deps.logger.warn(
          { component: "audit webhook", address: this.#deps.receiver.host, cause: reasonOf(error) },
          "audit events are not delivered yet: they are sent again",
        );
        await this.#pause(this.#pauseMs);
        this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
      }
    }
  }

  /** `all`: the log had no more. */
  async #sendNext(): Promise<"nothing" | "some" | "all"> {
    const { lines, next, isGap, isAll } = await this.#follower.read(this.#mostEvents, MOST_BYTES);
    if (lines.length === 0) {
      this.#noteAll();
      return "nothing";
    }
    this.#behindSince ??= this.#deps.runtime.clock.elapsed();
    const events = lines.filter(isObject);
    if (events.length > 0 && !(await this.#deliver(events))) return "some";
    const { metrics, logger, savePosition } = this.#deps;
    if (isGap) {
      metrics.gap();
      logger.error(
        { component: "audit webhook" },
        "files of the audit log were deleted before their events were delivered: keep more of them with --audit-log-maxbackup",
      );
    }
    this.#follower.advance(next);
    if (isAll) this.#noteAll();
    await savePosition(next);
    return isAll ? "all" : "some";
  }

  #noteAll(): void {
    this.#behindSince = undefined;
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    const { logger, receiver } = this.#deps;
    logger.info({ component: "audit webhook", address: receiver.host }, "all audit events are delivered again");
  }

  /** False: the same events have to be sent in smaller parts. */
  async #deliver(events: readonly string[]): Promise<boolean> {
    const { receiver, metrics, logger, mostEvents } = this.#deps;
    let status: number;
    try {
      status = await receiver.send(eventList(events), this.#ending.signal);
    } catch (error) {
      // It may need longer for so many than it has, or refuse them by ending the connection.
      this.#mostEvents = Math.ceil(events.length / 2);
      throw error;
    }
    if (status >= 200 && status < 300) {
      this.#pauseMs = FIRST_PAUSE_MS;
      this.#mostEvents = Math.min(this.#mostEvents * 2, mostEvents);
      metrics.events("delivered", events.length);
      return true;
    }
    // Whatever else it says, the events may be wanted once it is put right.
    if (status !== TOO_LARGE) throw new Error(`the receiver answered ${status}`);
    if (events.length > 1) {
      this.#mostEvents = Math.ceil(events.length / 2);
      return false;
    }
    metrics.events("refused", 1);
    logger.error(
      { component: "audit webhook", address: receiver.host },
      "an audit event is too large for the receiver: it is in the log alone",
    );
    return true;
  }

  /** Until the server ends, if not before; undefined: until lines are written. */
  #pause(milliseconds: number | undefined): Promise<void> {
    if (this.#isClosing) return Promise.resolve();
    return new Promise((resolve) => {
      const timer =
        milliseconds === undefined ? undefined : this.#deps.runtime.scheduler.schedule(milliseconds, () => end());
      const end = (): void => {
        timer?.[Symbol.dispose]();
        this.#wake = undefined;
        this.#endPause = undefined;
        resolve();
      };
      this.#endPause = end;
      if (milliseconds === undefined) this.#wake = end;
    });
  }

  #endPause: (() => void) | undefined;

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    this.#endPause?.();
    const timer = this.#deps.runtime.scheduler.schedule(LAST_MS, () => this.#ending.abort());
    await this.#running;
    timer[Symbol.dispose]();
    await this.#follower[Symbol.asyncDispose]();
    await this.#deps.receiver[Symbol.asyncDispose]();
  }
}

/** A line that was written in part, when a process was killed, is none; the record behind it says so. */
function isObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}

const eventList = (events: readonly string[]): string =>
  `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${events.join(",")}]}`;

/** No text of the receiver's or of the file's: either may hold a credential. */
function reasonOf(error: unknown): string {
  const code = systemErrorCode(error);
  if (code !== undefined) return code;
  return error instanceof Error ? error.message : "unknown error";
}
