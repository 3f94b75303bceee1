// Limits the part of a log file that one client can fill with events of no consequence, so that none pushes out the records of others.

import { PROXY_TARGET_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { type AuditLine, lineOf, sha256 } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";

/** Share of the size at which a file is rotated. */
const SHARE = 0.25;
/** The least time between two records of events that were left out, by the time of the events. */
const RECORD_INTERVAL_MS = 3_600_000;
/** Hash and seal of a line. */
const LINK_BYTES = 300;
/** Most shares of one client for reads that differ from each other. */
const SHARES_OF_READS = 2;

/** The record of omitted events: how many since the last record, their users, and the time of the first. */
const OMITTED_ANNOTATION = "audit-log/omitted-events";
const OMITTED_USER_ANNOTATION = "audit-log/omitted-user";
const OMITTED_SINCE_ANNOTATION = "audit-log/omitted-since";

/** The use of a file by one client, or by all requests without a credential. */
type Use = {
  bytes: number;
  omitted: number;
  since: string;
  last: AuditEvent | undefined;
  recordedAt: number;
  /** Reads that were recorded beyond the share. */
  readonly reads: Set<string>;
};

/** An event, or its line where that was made in another thread. */
export type Unwritten = AuditLine | { readonly event: AuditEvent; readonly json?: undefined };

export class FileShares {
  readonly #maxBytes: number;
  readonly #uses = new Map<string, Use>();

  /** `maxBytes` is the size at which a file is renamed; infinite: nothing is ever pushed out, and nothing is left out. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes * SHARE;
  }

  /** The part of these events that is to be written. */
  admit(events: readonly Unwritten[]): readonly AuditLine[] {
    return events.flatMap((one) => this.#admitOne(one.json === undefined ? lineOf(one.event) : one));
  }

  /** The share is that of each file. Returns the records of what was left out of the last one. */
  beginFile(): readonly AuditLine[] {
    const records = this.records();
    this.#uses.clear();
    return records;
  }

  /** The records of what was left out since the last ones; none where nothing was. */
  records(): readonly AuditLine[] {
    return [...this.#uses].flatMap(([client, use]) => recordOf(client, use));
  }

  #admitOne(line: AuditLine): readonly AuditLine[] {
    if (this.#maxBytes === Number.POSITIVE_INFINITY) return [line];
    const client = line.facts?.client ?? clientOf(line.event);
    const use = this.#useOf(client);
    const bytes = Buffer.byteLength(line.json) + LINK_BYTES;
    const after = use.bytes + bytes;
    const isFull = after > this.#maxBytes * SHARES_OF_READS;
    if (after <= this.#maxBytes || !isCountable(line.event, client, isFull ? undefined : use.reads)) {
      use.bytes = after;
      return [line];
    }
    const { event } = line;
    if (use.omitted === 0) use.since = event.stageTimestamp;
    use.omitted += 1;
    use.last = event;
    const now = Date.parse(event.stageTimestamp);
    if (now - use.recordedAt < RECORD_INTERVAL_MS) return [];
    use.recordedAt = now;
    return recordOf(client, use);
  }

  #useOf(client: string): Use {
    const known = this.#uses.get(client);
    if (known !== undefined) return known;
    const reads = new Set<string>();
    const use = { bytes: 0, omitted: 0, since: "", last: undefined, recordedAt: Number.NEGATIVE_INFINITY, reads };
    this.#uses.set(client, use);
    return use;
  }
}

const UNAUTHENTICATED = "";
/** Identities that a tenant creates in any number in its own cluster have one share together. */
const MADE_BY_TENANTS = /^system:(?:serviceaccount|node|bootstrap):/;

/** An event has no user before authentication, or if it failed. */
export function clientOf({ user: { username = "" }, annotations }: AuditEvent): string {
  if (username === "" || username === "system:anonymous") return UNAUTHENTICATED;
  return MADE_BY_TENANTS.test(username)
    ? `system:serviceaccounts ${annotations?.[PROXY_TARGET_ANNOTATION] ?? ""}`
    : username;
}

/**
 * Unauthenticated clients change nothing. For the others, refusals and repeated reads are counted; changes and connections are always written, so that no client
 * can hide an action behind a flood of its own. `reads` are those that are recorded already; undefined: there is no room for further ones.
 */
function isCountable(event: AuditEvent, client: string, reads: Set<string> | undefined): boolean {
  if (client === UNAUTHENTICATED) return true;
  const { code = 0 } = event.responseStatus ?? {};
  if (code >= 400 && code < 500) return true;
  if (!isPlainRead(event)) return false;
  if (reads === undefined) return true;
  const parts = [
    event.stage,
    event.verb,
    event.requestURI.split("?", 1)[0],
    code,
    event.sourceIPs,
    event.impersonatedUser?.username,
    event.annotations?.["authentication.kubernetes.io/credential-id"],
  ];
  const read = sha256(JSON.stringify(parts));
  if (reads.has(read)) return true;
  reads.add(read);
  return false;
}

const READS: ReadonlySet<string> = new Set(["get", "list", "watch"]);
const PLAIN_SUBRESOURCES: ReadonlySet<string> = new Set(["", "status", "scale", "log"]);

/** Connections begin with a GET as well, and so do subresources that return credentials. */
const isPlainRead = ({ verb, objectRef }: AuditEvent): boolean =>
  READS.has(verb) && PLAIN_SUBRESOURCES.has(objectRef?.subresource ?? "");

function recordOf(client: string, use: Use): readonly AuditLine[] {
  const { last, omitted, since } = use;
  if (omitted === 0 || last === undefined) return [];
  use.omitted = 0;
  const annotations = {
    [OMITTED_ANNOTATION]: String(omitted),
    [OMITTED_USER_ANNOTATION]: client === UNAUTHENTICATED ? "system:anonymous" : client,
    [OMITTED_SINCE_ANNOTATION]: since,
  };
  return [serverRecord(last, annotations)];
}

/** A record of the server itself about events that are not in the log, at the time of the last of them. */
export const serverRecord = (last: AuditEvent, annotations: { readonly [key: string]: string }): AuditLine =>
  lineOf({
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
    annotations,
  });

export const isServerRecord = ({ event }: AuditLine): boolean =>
  event.annotations !== undefined && Object.hasOwn(event.annotations, OMITTED_ANNOTATION);
