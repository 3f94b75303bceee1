// Limits the part of a log file that one client can fill with events of no consequence, so that none pushes out the records of others.

import { PROXY_TARGET_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { type AuditLine, lineOf, type ShareFacts, sha256 } from "./audit-chain.ts";
import type { AuditEvent } from "./audit-event.ts";

/** Share of the size at which a file is rotated. */
const SHARE = 0.25;
/** The least time between two records of events that were left out, by the time of the events. */
const RECORD_INTERVAL_MS = 3_600_000;
/** Hash and seal of a line. */
const LINK_BYTES = 300;
/** Most shares of one client for reads that differ from each other. */
const SHARES_OF_READS = 2;
/** Reads of one client that are found without a digest, and the longest text of one, in characters. */
const MAX_FOUND = 1_000;
const MAX_FOUND_LENGTH = 1_000;

/** The record of omitted events: how many since the last record, their users, and the time of the first. */
const OMITTED_ANNOTATION = "audit-log/omitted-events";
const OMITTED_USER_ANNOTATION = "audit-log/omitted-user";
const OMITTED_SINCE_ANNOTATION = "audit-log/omitted-since";

/** The use of a file by one client, or by all requests without a credential. */
type Use = {
  bytes: number;
  omitted: number;
  since: string;
  last: { readonly event: Identified } | undefined;
  recordedAt: number;
  /** Digests of reads that were recorded beyond the share. */
  readonly reads: Set<string>;
  /** Those of them that came again. */
  readonly found: Set<string>;
};

/** An event, or its line where that was made in another thread. */
export type Unwritten = AuditLine | { readonly event: AuditEvent; readonly json?: undefined };

/** The parts of an event that a record of omitted events repeats. */
type Identified = Pick<AuditEvent, "auditID" | "requestReceivedTimestamp" | "stageTimestamp">;

/** Events of one client that another thread has counted. */
export type CountedEvents = {
  readonly client: string;
  readonly count: number;
  /** The time of the first. */
  readonly since: string;
  readonly last: Identified;
};

export class FileShares {
  readonly #maxBytes: number;
  #version = 0;
  readonly #uses = new Map<string, Use>();

  /** `maxBytes` is the size at which a file is renamed; infinite: nothing is ever pushed out, and nothing is left out. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes * SHARE;
  }

  /** The part of these events that is to be written. */
  admit(events: readonly Unwritten[]): readonly AuditLine[] {
    if (this.#maxBytes === Number.POSITIVE_INFINITY) return events.map(lineOfUnwritten);
    const lines: AuditLine[] = [];
    for (const one of events) this.#admitOne(one, lines);
    return lines;
  }

  /** Counts an event for which there is no room whatever its text is. False: `admit` decides. */
  countOnly(event: AuditEvent): boolean {
    const client = clientOf(event);
    const use = this.#fullUseOf(client);
    if (use === undefined || isRecordDue(use, event.stageTimestamp)) return false;
    if (!this.#hasNoRoom(recordedOf(event, client), use)) return false;
    leaveOut(use, { event: identified(event) }, event.stageTimestamp);
    return true;
  }

  /** Other threads may count what is left out (`isLeftOut`) for as long as this number stays. */
  get version(): number {
    return this.#version;
  }

  /** Whether events with these facts are left out, for as long as the version stays. */
  isLeftOut({ client, recorded }: ShareFacts): boolean {
    const use = this.#fullUseOf(client);
    return use !== undefined && this.#hasNoRoom(recorded, use);
  }

  /** Where a record of them is due, the next event has to come whole. */
  addCounted({ client, count, since, last }: CountedEvents): void {
    const use = this.#useOf(client);
    if (use.omitted === 0 || since < use.since) use.since = since;
    use.omitted += count;
    use.last = { event: last };
    if (isRecordDue(use, last.stageTimestamp)) this.#version += 1;
  }

  #fullUseOf(client: string): Use | undefined {
    const use = this.#uses.get(client);
    return use === undefined || use.bytes < this.#maxBytes ? undefined : use;
  }

  #hasNoRoom(recorded: ShareFacts["recorded"], use: Use): boolean {
    if (recorded === "always") return false;
    return recorded === "in-share" || use.bytes >= this.#maxBytes * SHARES_OF_READS || isRead(recorded, use);
  }

  /** The share is that of each file. Returns the records of what was left out of the last one. */
  beginFile(): readonly AuditLine[] {
    const records = this.records();
    this.#uses.clear();
    this.#version += 1;
    return records;
  }

  /** The records of what was left out since the last ones; none where nothing was. */
  records(): readonly AuditLine[] {
    return [...this.#uses].flatMap(([client, use]) => recordOf(client, use));
  }

  #admitOne(one: Unwritten, lines: AuditLine[]): void {
    const facts = (one.json === undefined ? undefined : one.facts) ?? shareFactsOf(one.event);
    const use = this.#useOf(facts.client);
    const line = this.#lineOf(one, facts, use);
    if (line !== undefined) {
      use.bytes += bytesOf(line);
      lines.push(line);
      return;
    }
    leaveOut(use, one, facts.at);
    if (!isRecordDue(use, facts.at)) return;
    use.recordedAt = Date.parse(facts.at);
    lines.push(...recordOf(facts.client, use));
  }

  /** Undefined for an event that is left out. Of one for which no room can be left, the text is not made. */
  #lineOf(one: Unwritten, { recorded }: ShareFacts, use: Use): AuditLine | undefined {
    const fits = (line: AuditLine, shares: number): boolean => use.bytes + bytesOf(line) <= this.#maxBytes * shares;
    if (recorded === "always") return lineOfUnwritten(one);
    if (use.bytes < this.#maxBytes) {
      const line = lineOfUnwritten(one);
      if (fits(line, 1)) return line;
    }
    if (recorded === "in-share" || use.bytes >= this.#maxBytes * SHARES_OF_READS) return undefined;
    const read = sha256(recorded);
    if (use.reads.has(read)) return undefined;
    const line = lineOfUnwritten(one);
    if (!fits(line, SHARES_OF_READS)) return undefined;
    use.reads.add(read);
    return line;
  }

  #useOf(client: string): Use {
    const known = this.#uses.get(client);
    if (known !== undefined) return known;
    const reads = { reads: new Set<string>(), found: new Set<string>() };
    const use = { bytes: 0, omitted: 0, since: "", last: undefined, recordedAt: Number.NEGATIVE_INFINITY, ...reads };
    this.#uses.set(client, use);
    return use;
  }
}

function leaveOut(use: Use, last: Use["last"], at: string): void {
  if (use.omitted === 0) use.since = at;
  use.omitted += 1;
  use.last = last;
}

/** The rest of an event may hold what its client has sent. */
export const identified = ({ auditID, requestReceivedTimestamp, stageTimestamp }: Identified): Identified => ({
  auditID,
  requestReceivedTimestamp,
  stageTimestamp,
});

const isRecordDue = ({ recordedAt }: Use, at: string): boolean => Date.parse(at) - recordedAt >= RECORD_INTERVAL_MS;

/** Whether the file has this read beyond the share. */
function isRead(recorded: string, { reads, found }: Use): boolean {
  if (found.has(recorded)) return true;
  const isIn = reads.has(sha256(recorded));
  if (isIn && found.size < MAX_FOUND && recorded.length <= MAX_FOUND_LENGTH) found.add(recorded);
  return isIn;
}

const lineOfUnwritten = (one: Unwritten): AuditLine => (one.json === undefined ? lineOf(one.event) : one);

const bytesOf = ({ json }: AuditLine): number => Buffer.byteLength(json) + LINK_BYTES;

const UNAUTHENTICATED = "";
const CREDENTIAL_ANNOTATION = "authentication.kubernetes.io/credential-id";
/** Identities that a tenant creates in any number in its own cluster have one share together: those with names of Kubernetes, and those with certificates. */
const MADE_BY_TENANTS = /^system:(?:serviceaccount|node|bootstrap):/;
const CERTIFICATE = "certificate:";

/** An event has no user before authentication, or if it failed. */
function clientOf({ user: { username = "" }, annotations }: AuditEvent): string {
  if (username === "" || username === "system:anonymous") return UNAUTHENTICATED;
  return MADE_BY_TENANTS.test(username) || annotations?.[CREDENTIAL_ANNOTATION]?.startsWith(CERTIFICATE) === true
    ? `system:serviceaccounts ${annotations?.[PROXY_TARGET_ANNOTATION] ?? ""}`
    : username;
}

export function shareFactsOf(event: AuditEvent): ShareFacts {
  const client = clientOf(event);
  return { client, recorded: recordedOf(event, client), at: event.stageTimestamp };
}

/**
 * Unauthenticated clients change nothing. For the others, refusals and repeated reads are counted; changes and connections are always written, so that no client
 * can hide an action behind a flood of its own.
 */
function recordedOf(event: AuditEvent, client: string): ShareFacts["recorded"] {
  const { code = 0 } = event.responseStatus ?? {};
  if (client === UNAUTHENTICATED || (code >= 400 && code < 500)) return "in-share";
  if (!isPlainRead(event)) return "always";
  const { stage, verb, requestURI, sourceIPs, impersonatedUser, annotations } = event;
  const query = requestURI.indexOf("?");
  const path = query < 0 ? requestURI : requestURI.slice(0, query);
  const key = annotations?.[CREDENTIAL_ANNOTATION] ?? "";
  // The path comes last. Of the other parts, only those with their length before them may have a space.
  const acting = impersonatedUser?.username ?? "";
  return `${stage} ${verb} ${code} ${sourceIPs?.join()} ${key.length} ${key} ${acting.length} ${acting} ${path}`;
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
  return [serverRecord(last.event, annotations)];
}

/** A record of the server itself about events that are not in the log, at the time of the last of them. */
export const serverRecord = (last: Identified, annotations: { readonly [key: string]: string }): AuditLine =>
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
