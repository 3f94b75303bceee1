// Limits the part of a log file for requests without a credential, so that they cannot push out the records of requests with one.

import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { AuditEvent } from "./audit-event.ts";

/** Of the size at which a file is renamed. */
const SHARE = 0.25;
/** The least time between two records of events that were left out, by the time of the events. */
const RECORD_INTERVAL_MS = 3_600_000;
/** Hash and seal of a line. */
const LINK_BYTES = 300;

/** On the record of events that were left out: how many since the last one, and when the first of them was. */
export const OMITTED_ANNOTATION = "audit-log/omitted-events";
export const OMITTED_SINCE_ANNOTATION = "audit-log/omitted-since";

export class UnauthenticatedShare {
  readonly #maxBytes: number;
  #used = 0;
  #omitted = 0;
  #since = "";
  #last: AuditEvent | undefined;
  #recordedAt = Number.NEGATIVE_INFINITY;

  /** `maxBytes` is the size at which a file is renamed; infinite: nothing is ever pushed out, and nothing is left out. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes * SHARE;
  }

  /** The part of these events that is to be written. */
  admit(events: readonly AuditEvent[]): readonly AuditEvent[] {
    if (this.#maxBytes === Number.POSITIVE_INFINITY || !events.some(isUnauthenticated)) return events;
    return events.flatMap((event) => (isUnauthenticated(event) ? this.#admitOne(event) : [event]));
  }

  /** The share is that of each file. Returns the record of what was left out of the last one. */
  beginFile(): readonly AuditEvent[] {
    this.#used = 0;
    this.#recordedAt = Number.NEGATIVE_INFINITY;
    return this.record();
  }

  /** The record of what was left out since the last record; none where nothing was. */
  record(): readonly AuditEvent[] {
    const last = this.#last;
    if (this.#omitted === 0 || last === undefined) return [];
    const record: AuditEvent = {
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: last.auditID,
      stage: "ResponseComplete",
      requestURI: "",
      verb: "",
      user: { username: "system:apiserver" },
      requestReceivedTimestamp: last.requestReceivedTimestamp,
      stageTimestamp: last.stageTimestamp,
      annotations: { [OMITTED_ANNOTATION]: String(this.#omitted), [OMITTED_SINCE_ANNOTATION]: this.#since },
    };
    this.#omitted = 0;
    return [record];
  }

  #admitOne(event: AuditEvent): readonly AuditEvent[] {
    const bytes = Buffer.byteLength(stringifyJson(event)) + LINK_BYTES;
    if (this.#used + bytes <= this.#maxBytes) {
      this.#used += bytes;
      return [event];
    }
    if (this.#omitted === 0) this.#since = event.stageTimestamp;
    this.#omitted += 1;
    this.#last = event;
    const now = Date.parse(event.stageTimestamp);
    if (now - this.#recordedAt < RECORD_INTERVAL_MS) return [];
    this.#recordedAt = now;
    return this.record();
  }
}

/** Before authentication, or where it failed, an event has no user. */
const isUnauthenticated = ({ user: { username = "" } }: AuditEvent): boolean =>
  username === "" || username === "system:anonymous";
