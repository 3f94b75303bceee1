// The query of an audit search, and the matching events.

import {
  ACCESS_KEY_ANNOTATION,
  ACCESS_KEY_ORIGINS_ANNOTATION,
  ACCESS_KEY_OWNER_ANNOTATION,
  ACCESS_KEY_PRESENTED_ANNOTATION,
  ACCESS_REQUEST_ANNOTATION,
  ISSUED_CREDENTIAL_ANNOTATION,
  PROXY_TARGET_ANNOTATION,
} from "@postern/apimachinery/audit/audit-annotations";
import { type AuditRecord, actorOf, keyOf } from "@postern/apimachinery/audit/audit-record";
import { isChange, mayBeChange } from "./audit-changes.ts";
import { isRefusal } from "./audit-counts.ts";
import { lastEventTime, linesOf } from "./log-files.ts";

export type AuditQuery = {
  /**
   * Name of an access key, or the handle of one of its values: also what goes back to it, and what was refused with a value of the key, or of one that
   * was created with it, such as after the key was deleted.
   */
  readonly key?: string | undefined;
  readonly user?: string | undefined;
  /** Name of an access request: what was done with the access that it gave. */
  readonly request?: string | undefined;
  /** `<project>/<name>`, the name of a connected cluster, or either with its kind in front. */
  readonly cluster?: string | undefined;
  readonly verb?: string | undefined;
  /** Name of the object, with or without its resource: `ci`, `ownedaccesskeys/ci`. For other requests, the path. */
  readonly object?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only what was refused: 401, 403 and 429. */
  readonly refused?: boolean | undefined;
  /** Only requests that change something, also those that were refused. */
  readonly changes?: boolean | undefined;
  /** False: without the reads and the access reviews that a page of the console sends by itself. */
  readonly pages?: boolean | undefined;
};

const CREDENTIAL_ANNOTATION = "authentication.kubernetes.io/credential-id";
const REFUSAL_ANNOTATION = "authentication.kubernetes.io/refusal";
/** Below the domain of the server that wrote the log: see audit-sign-in.ts. */
const SIGN_IN_USER = "/sign-in-user";
const SIGN_IN_REFUSAL = "/sign-in-refusal";

/** The oldest file first. Lines that are no events are passed over. Rejects with the reason of the signal. */
export async function* searchAuditLog(
  files: readonly string[],
  query: AuditQuery,
  signal?: AbortSignal,
): AsyncGenerator<AuditRecord> {
  const { since } = query;
  // A watch is written when it begins and when it ends: it is one request.
  const begun = new Set<string>();
  const ids = createIdsOf(query.key);
  const needles = [query.user, query.request, query.cluster, query.object?.split("/").at(-1)].flatMap((text) =>
    text === undefined ? [] : [needleOf(text)],
  );
  const mayHold = (line: Buffer): boolean =>
    needles.every((needle) => line.includes(needle)) &&
    ids.mayBeIn(line) &&
    (query.changes !== true || mayBeChange(line));
  for (const file of files) {
    if (since !== undefined && ((await lastEventTime(file)) ?? Number.POSITIVE_INFINITY) < since) continue;
    for await (const line of linesOf(file, mayHold, signal)) {
      const event = parsed(line);
      if (event === undefined || event.stage === "RequestReceived") continue;
      ids.learn(event);
      const { auditID = "", stage } = event;
      if (stage === "ResponseStarted") begun.add(auditID);
      else if (begun.delete(auditID)) continue;
      if (query.changes === true && !isChange(event)) continue;
      if (query.pages === false && isOfPage(event) && !isChange(event)) continue;
      const record = toRecord(event);
      if (matches(record, query, ids)) yield record;
    }
  }
}

const needleOf = (text: string): Buffer => Buffer.from(JSON.stringify(text).slice(1, -1));

/**
 * The handles that a key had, and those of what was created with it, as far as the events before say. A request with a deleted key has its handle, and
 * neither its name nor its origins.
 */
type IdsOf = {
  mayBeIn(line: Buffer): boolean;
  learn(event: LoggedEvent): void;
  has(id: string): boolean;
};

/** A key that creates others all day would fill the memory of the search; later ones are found by their own names and handles. */
const MAX_IDS = 100_000;

function createIdsOf(key: string | undefined): IdsOf {
  if (key === undefined) return { mayBeIn: () => true, learn: () => undefined, has: () => false };
  const needles = [needleOf(key), Buffer.from(ACCESS_KEY_PRESENTED_ANNOTATION)];
  const ids = new Set([key]);
  return {
    mayBeIn: (line) => needles.some((needle) => line.includes(needle)),
    learn({ annotations = {}, objectRef }) {
      const {
        [ACCESS_KEY_ANNOTATION]: name,
        [CREDENTIAL_ANNOTATION]: used,
        [ACCESS_KEY_ORIGINS_ANNOTATION]: origins,
      } = annotations;
      const isByKey = name === key || ids.has(used ?? "") || origins?.split(",").includes(key) === true;
      const isOfKey = objectRef?.["resource"] === "ownedaccesskeys" && objectRef["name"] === key;
      const issued = isByKey || isOfKey ? annotations[ISSUED_CREDENTIAL_ANNOTATION] : undefined;
      for (const id of [isByKey ? used : undefined, issued]) if (id !== undefined && ids.size < MAX_IDS) ids.add(id);
    },
    has: (id) => ids.has(id),
  };
}

/** How browsers name themselves; some send the name that the console gives. */
const PAGES = /^(?:Mozilla\/|postern-console)/;

const isOfPage = ({ userAgent = "" }: LoggedEvent): boolean => PAGES.test(userAgent);

type LoggedEvent = {
  readonly auditID?: string;
  readonly stage?: string;
  readonly verb?: string;
  readonly requestURI?: string;
  readonly requestReceivedTimestamp?: string;
  readonly user?: { readonly username?: string };
  readonly impersonatedUser?: { readonly username?: string };
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: { readonly [member: string]: string };
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly annotations?: { readonly [key: string]: string };
};

/** Lines that the server wrote are of this shape. */
function parsed(line: string): LoggedEvent | undefined {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === "object" && event !== null ? event : undefined;
  } catch {
    return undefined;
  }
}

function toRecord(event: LoggedEvent): AuditRecord {
  const { annotations = {}, objectRef, user, impersonatedUser, sourceIPs, responseStatus } = event;
  const ofSignIn = (suffix: string) => Object.entries(annotations).find(([name]) => name.endsWith(suffix))?.[1];
  const refusal = annotations[REFUSAL_ANNOTATION] ?? ofSignIn(SIGN_IN_REFUSAL);
  const { code = 0, message = "" } = responseStatus ?? {};
  const accessRequest = annotations[ACCESS_REQUEST_ANNOTATION];
  const signedInUser = ofSignIn(SIGN_IN_USER);
  const owner = annotations[ACCESS_KEY_OWNER_ANNOTATION];
  const presentedID = annotations[ACCESS_KEY_PRESENTED_ANNOTATION];
  return {
    time: event.requestReceivedTimestamp ?? "",
    key: annotations[ACCESS_KEY_ANNOTATION] ?? "",
    keyID: annotations[CREDENTIAL_ANNOTATION] ?? "",
    ...(presentedID === undefined ? {} : { presentedID }),
    origins: annotations[ACCESS_KEY_ORIGINS_ANNOTATION]?.split(",") ?? [],
    user: user?.username ?? "",
    ...(impersonatedUser?.username === undefined ? {} : { impersonatedUser: impersonatedUser.username }),
    ...(signedInUser === undefined ? {} : { signedInUser }),
    ...(owner === undefined ? {} : { owner }),
    cluster: annotations[PROXY_TARGET_ANNOTATION] ?? "",
    verb: event.verb ?? "",
    object: objectRef === undefined ? (event.requestURI ?? "").split("?", 1).join("") : objectText(objectRef),
    code,
    ...(refusal === undefined ? {} : { refusal }),
    ...(code < 400 || message === "" ? {} : { message }),
    ...(accessRequest === undefined ? {} : { accessRequest }),
    sourceIP: sourceIPs?.[0] ?? "",
    auditID: event.auditID ?? "",
  };
}

function objectText({ resource = "", subresource, apiGroup, namespace, name }: { readonly [member: string]: string }) {
  const type = apiGroup === undefined ? resource : `${resource}.${apiGroup}`;
  const path = [type, name, subresource].filter((part) => part !== undefined).join("/");
  return namespace === undefined ? path : `${path} -n ${namespace}`;
}

function matches(
  record: AuditRecord,
  { key, user, request, cluster, verb, object, since, until, refused }: AuditQuery,
  ids: Pick<IdsOf, "has">,
): boolean {
  const isOfKey =
    [record.key, record.keyID, ...record.origins].includes(key ?? "") || ids.has(record.presentedID ?? "");
  if (key !== undefined && !isOfKey) return false;
  if (user !== undefined && !isAbout(user, record)) return false;
  if (request !== undefined && record.accessRequest !== request) return false;
  if (cluster !== undefined && record.cluster !== cluster && !record.cluster.endsWith(`/${cluster}`)) return false;
  if (verb !== undefined && record.verb !== verb) return false;
  if (object !== undefined && !isOf(record, object)) return false;
  if (refused === true && !isRefusal(record.code)) return false;
  if (since === undefined && until === undefined) return true;
  const time = Date.parse(record.time);
  return time >= (since ?? Number.NEGATIVE_INFINITY) && time < (until ?? Number.POSITIVE_INFINITY);
}

const isAbout = (name: string, { user, impersonatedUser, signedInUser, owner }: AuditRecord): boolean =>
  [user, impersonatedUser, signedInUser].includes(name) || owner === `user/${name}`;

function isOf(record: Pick<AuditRecord, "object">, wanted: string): boolean {
  const [path = ""] = record.object.split(" -n ", 1);
  const [type = "", name = ""] = path.split("/", 2);
  const [resource = ""] = type.split(".", 1);
  return path === wanted || (name !== "" && [name, `${type}/${name}`, `${resource}/${name}`].includes(wanted));
}

/** Requests of one key, user and cluster. */
export type AuditSummary = Pick<AuditRecord, "key" | "user" | "cluster"> & {
  requests: number;
  refused: number;
  readonly verbs: Set<string>;
  readonly sourceIPs: Set<string>;
  first: string;
  last: string;
};

/** Lists which user used which key on which cluster. */
export async function summarize(records: AsyncIterable<AuditRecord>): Promise<readonly AuditSummary[]> {
  const found = new Map<string, AuditSummary>();
  for await (const record of records) {
    const { cluster, verb, code, sourceIP, time } = record;
    const user = actorOf(record);
    const shown = keyOf(record);
    const group = JSON.stringify([shown, user, cluster]);
    const row = found.get(group) ?? {
      key: shown,
      user,
      cluster,
      requests: 0,
      refused: 0,
      verbs: new Set<string>(),
      sourceIPs: new Set<string>(),
      first: time,
      last: time,
    };
    found.set(group, row);
    row.requests++;
    if (isRefusal(code)) row.refused++;
    row.verbs.add(verb);
    row.sourceIPs.add(sourceIP);
    if (time < row.first) row.first = time;
    if (time > row.last) row.last = time;
  }
  return [...found.values()];
}
