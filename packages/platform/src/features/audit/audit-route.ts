// GET /audit/events: searches the audit log of this server.

import type { AuditRecord } from "@postern/apimachinery/audit/audit-record";
import {
  ApiError,
  badRequestError,
  methodNotAllowedError,
  tooManyRequestsError,
} from "@postern/apimachinery/meta/api-error";
import type { Handler } from "@postern/apiserver/context/request-context";
import { jsonResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../foundation/foundation.ts";
import type { ManagementRoute } from "../../foundation/http/feature-route.ts";
import { AuditCounts } from "./audit-counts.ts";
import { withRotated } from "./log-files.ts";
import { type AuditQuery, searchAuditLog } from "./search-audit-log.ts";

/** Open to callers that RBAC lets `get` it: the platform's administrators. */
const AUDIT_EVENTS_PATH = "/audit/events";

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 5_000;
/** Longer names are in no log. */
const MAX_TEXT = 512;
/** Parts of the time that are counted separately. */
const MAX_PARTS = 200;

/**
 * Answers `{"items": [...], "isTruncated": false}`, the newest record first, and with `parts` the `counts` of all records, also of those beyond the limit.
 * `path`: the newest file of the log; undefined if the log is no file.
 */
export function auditSearchRoute({ names }: Pick<Foundation, "names">, path: string | undefined): ManagementRoute {
  // A search reads whole files.
  let isSearching = false;
  const handle: Handler = async ({ request, signal, receivedAt }) => {
    if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowedError();
    const { limit, parts, ...asked } = readQuery(request.query);
    const query = { ...asked, namespacePrefix: names.projectNamespacePrefix };
    if (path === undefined) throw noFileError();
    if (isSearching) throw tooManyRequestsError("another search of the audit log is running on this server", 1);
    isSearching = true;
    try {
      const counts = parts === 0 ? undefined : new AuditCounts(parts, query.since, query.until ?? receivedAt);
      const found = await newest(searchAuditLog(await withRotated(path), query, signal), limit, counts);
      return jsonResponse(
        200,
        JSON.stringify({ ...found, ...(counts === undefined ? {} : { counts: counts.read() }) }),
      );
    } finally {
      isSearching = false;
    }
  };
  return { path: AUDIT_EVENTS_PATH, handle };
}

const noFileError = (): ApiError =>
  new ApiError({
    code: 404,
    reason: "NotFound",
    message: "the audit log of this server goes to standard output: search it where it is collected",
  });

async function newest(records: AsyncIterable<AuditRecord>, limit: number, counts: AuditCounts | undefined) {
  const items: AuditRecord[] = [];
  let isTruncated = false;
  for await (const record of records) {
    counts?.add(record);
    items.push(record);
    if (items.length < 2 * limit) continue;
    items.splice(0, limit);
    isTruncated = true;
  }
  const kept = items.slice(-limit).reverse();
  return { items: kept, isTruncated: isTruncated || items.length > limit };
}

const TEXTS = ["key", "trustRule", "user", "request", "cluster", "verb", "object"] as const;
const TIMES = ["since", "until"] as const;
/** `timeout` belongs to every request. */
const FLAGS = ["refused", "changes", "pages"] as const;
const PARAMETERS: readonly string[] = [...TEXTS, ...TIMES, ...FLAGS, "limit", "parts", "timeout"];

/** Throws ApiError 400 that names the parameter: a search that ignored one would return events that it was to leave out. */
function readQuery(query: URLSearchParams): AuditQuery & { readonly limit: number; readonly parts: number } {
  for (const name of new Set(query.keys())) {
    if (!PARAMETERS.includes(name)) throw badRequestError(`${name.slice(0, MAX_TEXT)}: unknown parameter`);
    if (query.getAll(name).length > 1) throw badRequestError(`${name}: must be given once`);
  }
  const texts = TEXTS.flatMap((name) => {
    const text = query.get(name) ?? "";
    if (text.length > MAX_TEXT) throw badRequestError(`${name}: must have at most ${MAX_TEXT} characters`);
    return text === "" ? [] : [[name, text] as const];
  });
  if (query.has("key") && query.has("trustRule")) throw badRequestError("trustRule: must not be given with key");
  const times = TIMES.flatMap((name) => {
    const text = query.get(name) ?? "";
    if (text === "") return [];
    const time = Date.parse(text);
    if (Number.isNaN(time)) throw badRequestError(`${name}: must be a time such as 2026-01-31T08:00:00Z`);
    return [[name, time] as const];
  });
  const flags = FLAGS.flatMap((name) => {
    const text = query.get(name) ?? "";
    if (!["", "true", "false"].includes(text)) throw badRequestError(`${name}: must be true or false`);
    return text === "" ? [] : [[name, text === "true"] as const];
  });
  return {
    ...Object.fromEntries(texts),
    ...Object.fromEntries(times),
    ...Object.fromEntries(flags),
    limit: readCount("limit", query.get("limit") ?? "", DEFAULT_LIMIT, MAX_LIMIT),
    parts: readCount("parts", query.get("parts") ?? "", 0, MAX_PARTS),
  };
}

function readCount(name: string, text: string, otherwise: number, most: number): number {
  if (text === "") return otherwise;
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most) throw badRequestError(`${name}: must be a number from 1 to ${most}`);
  return count;
}
