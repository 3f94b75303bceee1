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
  /**
   * Name of a trust rule, with or without its project or namespace: the exchanges by it, and what was done with the keys that it issued, and with what
   * these created. Not together with `key`.
   */
  readonly trustRule?: string | undefined;
  /** Of the namespaces of projects. Absent: trust rules are not found by their project. */
  readonly namespacePrefix?: string | undefined;
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
/** The ID of the rule of a token exchange, such as `trustrules/p-shop/deploy`. */
const TRUST_RULE = "/trust-rule";

/** The oldest file first. Lines that are no events are passed over. Rejects with the reason of the signal. */
export async function* searchAuditLog(
  files: readonly string[],
  query: AuditQuery,
  signal?: AbortSignal,
): AsyncGenerator<AuditRecord> {
  const { since } = query;
  // A watch is written when it begins and when it ends: it is one request.
  const begun = new Set<string>();
  const lineage = lineageOf(query);
  const needles = [
    query.user && ownerNameIn(query.user),
    query.request,
    query.cluster,
    query.object?.split("/").at(-1),
  ].flatMap((text) => (text === undefined ? [] : [needleOf(text)]));
  const mayHold = (line: Buffer): boolean =>
    needles.every((needle) => line.includes(needle)) &&
    lineage.mayBeIn(line) &&
    (query.changes !== true || mayBeChange(line));
  for (const file of files) {
    if (since !== undefined && ((await lastEventTime(file)) ?? Number.POSITIVE_INFINITY) < since) continue;
    for await (const line of linesOf(file, mayHold, signal)) {
      const event = parsed(line);
      if (event === undefined || event.stage === "RequestReceived") continue;
      const isOfLineage = lineage.takes(event);
      const { auditID = "", stage } = event;
      if (stage === "ResponseStarted") begun.add(auditID);
      else if (begun.delete(auditID)) continue;
      if (query.changes === true && !isChange(event)) continue;
      if (query.pages === false && isOfPage(event) && !isChange(event)) continue;
      const record = toRecord(event);
      if (isOfLineage && matches(record, query)) yield record;
    }
  }
}

const needleOf = (text: string): Buffer => Buffer.from(JSON.stringify(text).slice(1, -1));

/** A key, or those of a trust rule, with all that was created with them. */
type Lineage = {
  mayBeIn(line: Buffer): boolean;
  /** Whether an event belongs to it. Learns names and handles from it, since a request with a deleted key has its handle alone. */
  takes(event: LoggedEvent): boolean;
};

/** Keys that create others all day would fill the memory of the search; later ones are found by their own names and handles. */
const MAX_IDS = 100_000;

function lineageOf({ key, trustRule, namespacePrefix }: AuditQuery): Lineage {
  if (key === undefined && trustRule === undefined) return { mayBeIn: () => true, takes: () => true };
  const root = key ?? trustRule ?? "";
  const rules = trustRule === undefined ? [] : [trustRule];
  if (namespacePrefix !== undefined && trustRule?.includes("/") === true) rules.push(`${namespacePrefix}${trustRule}`);
  // Requests with an issued key do not name the rule.
  const others = key === undefined ? [CREDENTIAL_ANNOTATION] : [];
  const needles = [needleOf(root), ...[...others, ACCESS_KEY_PRESENTED_ANNOTATION].map((text) => Buffer.from(text))];
  const names = new Set(key === undefined ? [] : [key]);
  const ids = new Set(names);
  const note = (known: Set<string>, text: string | undefined): void => {
    if (text !== undefined && known.size < MAX_IDS) known.add(text);
  };
  return {
    mayBeIn: (line) => needles.some((needle) => line.includes(needle)),
    takes(event) {
      const { annotations = {}, objectRef } = event;
      const {
        [ACCESS_KEY_ANNOTATION]: name,
        [ACCESS_KEY_ORIGINS_ANNOTATION]: origins,
        [ACCESS_KEY_PRESENTED_ANNOTATION]: presented,
        [CREDENTIAL_ANNOTATION]: used,
        [ISSUED_CREDENTIAL_ANNOTATION]: issued,
      } = annotations;
      const isByKey =
        names.has(name ?? "") ||
        ids.has(used ?? "") ||
        origins?.split(",").some((origin) => names.has(origin)) === true;
      const ruleId = annotationLike(annotations, TRUST_RULE);
      const isByRule = rules.some((rule) => isRule(ruleId, rule));
      const isOfKey = objectRef?.["resource"] === "ownedaccesskeys" && objectRef["name"] === key;
      if (isByKey) note(ids, used);
      // Its children name it among their origins.
      if (isByKey && key === undefined) note(names, name);
      if (isByKey || isByRule || isOfKey) note(ids, issued);
      return isByKey || isByRule || ids.has(presented ?? "");
    },
  };
}

const isRule = (id: string | undefined, wanted: string): boolean =>
  id === wanted || id?.endsWith(`/${wanted}`) === true;

/**
 * Some names are below the domain of the server that wrote the log. It never gives them to requests through the proxy: there they are those of a policy or webhook
 * with the name of any domain.
 */
const annotationLike = (annotations: LoggedEvent["annotations"] = {}, suffix: string): string | undefined =>
  Object.hasOwn(annotations, PROXY_TARGET_ANNOTATION)
    ? undefined
    : Object.entries(annotations).find(([name]) => name.endsWith(suffix))?.[1];

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
  const refusal = annotations[REFUSAL_ANNOTATION] ?? annotationLike(annotations, SIGN_IN_REFUSAL);
  const { code = 0, message = "" } = responseStatus ?? {};
  const accessRequest = annotations[ACCESS_REQUEST_ANNOTATION];
  const signedInUser = annotationLike(annotations, SIGN_IN_USER);
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
  { user, request, cluster, verb, object, since, until, refused }: AuditQuery,
): boolean {
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

/** The administrators of a virtual cluster choose the names in its certificates, and those that its credentials impersonate. */
function isAbout(name: string, { keyID, user, impersonatedUser, signedInUser, owner }: AuditRecord): boolean {
  if (owner !== undefined) return isOwner(name, owner);
  return [user, signedInUser].includes(name) || (impersonatedUser === name && !OF_CLUSTERS.test(keyID));
}

/** As the handles of credentials of virtual clusters begin. */
const OF_CLUSTERS = /^(?:certificate|serviceaccount):/;

/** Between the name of the platform and that of a team, in the username of requests with a key of the team. */
const TEAM_INFIX = ":team:";

/** The name that the record of a refused key has of a user, team or subject. */
const ownerNameIn = (username: string): string => {
  const at = username.indexOf(TEAM_INFIX);
  return at < 0 ? username : username.slice(at + TEAM_INFIX.length);
};

/** `owner` such as `user/jane`, `team/shop` or `subject/postern:vcluster:p-shop:dev`. */
const isOwner = (username: string, owner: string): boolean =>
  [username, `user/${username}`, `subject/${username}`].includes(owner) ||
  (username.includes(TEAM_INFIX) && owner === `team/${ownerNameIn(username)}`);

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
