// GET /sessionrecordings: the recordings of this server, and below it a recording by its name.

import { RECORDINGS_PATH, type SessionRecordingItem, type SessionRecordingList } from "@postern/api/session-recording";
import { ApiError, badRequestError, methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { type ApiResponse, jsonResponse } from "@postern/apiserver/transport/api-response";
import type { ManagementRoute } from "../../foundation/http/feature-route.ts";
import type { SessionRecordings } from "./feature.ts";
import { isRecordingName, type RecordingRange } from "./recordings-directory.ts";
import { itemOf, projectOwner } from "./session-about.ts";

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 5_000;
/** Files that one list opens: those that its filters leave out take as much time as others. */
const MAX_OPENED = 5_000;
/** Longer texts are in no description. */
const MAX_TEXT = 1024;

type Filter = (item: SessionRecordingItem) => boolean;

const TEXTS = ["user", "project", "instance", "cluster", "namespace", "pod"] as const;
const TIMES = ["since", "until"] as const;
/** `timeout` belongs to every request. */
const PARAMETERS: readonly string[] = [...TEXTS, ...TIMES, "limit", "continue", "timeout"];

/**
 * Open to callers that RBAC lets `get` the paths: the platform's administrators. The list is a SessionRecordingList, the recording a file in the format
 * asciicast v2.
 */
export function recordingsRoutes({ directory }: Pick<SessionRecordings, "directory">): readonly ManagementRoute[] {
  const opened = () => {
    if (directory !== undefined) return directory;
    throw notFound("this server has no --session-recording-dir, and so no recordings");
  };
  return [
    {
      path: RECORDINGS_PATH,
      async handle({ request, signal }) {
        mayOnlyRead(request);
        const { filter, range, limit } = readQuery(request.query);
        const directory = opened();
        const files = await directory.newest(range, MAX_OPENED + 1);
        const items: SessionRecordingItem[] = [];
        let looked = 0;
        for (const file of files.slice(0, MAX_OPENED)) {
          if (items.length === limit) break;
          signal.throwIfAborted();
          looked++;
          const recording = await directory.describe(file);
          const item = recording && itemOf(recording);
          if (item !== undefined && filter(item)) items.push(item);
        }
        const last = files[looked - 1];
        const list: SessionRecordingList = {
          items,
          ...(last === undefined || looked === files.length ? {} : { continue: last.name }),
        };
        return jsonResponse(200, JSON.stringify(list));
      },
    },
    {
      path: `${RECORDINGS_PATH}/*`,
      async handle({ request, info }) {
        mayOnlyRead(request);
        const name = info.path.slice(RECORDINGS_PATH.length + 1);
        const found = await opened().find(name);
        if (found === undefined)
          throw notFound(`this server has no recording ${JSON.stringify(name.slice(0, MAX_TEXT))}`);
        return streamed(name, opened().read(found));
      },
    },
  ];
}

const notFound = (message: string): ApiError => new ApiError({ code: 404, reason: "NotFound", message });

function mayOnlyRead({ method }: RequestContext["request"]): void {
  if (method !== "GET" && method !== "HEAD") throw methodNotAllowedError();
}

/** One whose file was changed breaks off. */
const streamed = (name: string, parts: AsyncIterable<Uint8Array>): ApiResponse => ({
  status: 200,
  headers: {
    "cache-control": "no-store",
    // A browser saves it: a container has written it.
    "content-disposition": `attachment; filename="${name}.cast"`,
    "content-type": "application/x-asciicast",
    "x-content-type-options": "nosniff",
  },
  body: {
    type: "stream",
    async run(sink) {
      for await (const part of parts) if (!(await sink.write(part))) return;
    },
  },
});

/** Throws ApiError 400 that names the parameter: a list that ignored one would have recordings that it was to leave out. */
function readQuery(query: URLSearchParams): {
  readonly filter: Filter;
  readonly range: RecordingRange;
  readonly limit: number;
} {
  for (const name of new Set(query.keys())) {
    if (!PARAMETERS.includes(name)) throw badRequestError(`${name.slice(0, MAX_TEXT)}: unknown parameter`);
    if (query.getAll(name).length > 1) throw badRequestError(`${name}: must be given once`);
  }
  const texts = TEXTS.flatMap((name) => {
    const text = query.get(name) ?? "";
    return text === "" ? [] : [({ [name]: value }: SessionRecordingItem) => value === text];
  });
  const [since, until] = TIMES.map((name) => {
    const text = query.get(name) ?? "";
    const time = Date.parse(text);
    if (text !== "" && Number.isNaN(time))
      throw badRequestError(`${name}: must be a time such as 2026-01-31T08:00:00Z`);
    return text === "" ? undefined : time;
  });
  const limitText = query.get("limit") ?? String(DEFAULT_LIMIT);
  const limit = /^\d{1,6}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw badRequestError(`limit: must be a number from 1 to ${MAX_LIMIT}`);
  const before = query.get("continue") ?? undefined;
  if (before !== undefined && !isRecordingName(before)) throw badRequestError("continue: must be that of a list");
  const project = query.get("project") ?? "";
  return {
    limit,
    range: { before, since, until, project: project === "" ? undefined : projectOwner(project) },
    filter(item) {
      const at = Date.parse(item.startTime);
      if ((since !== undefined && at < since) || (until !== undefined && at >= until)) return false;
      return texts.every((matches) => matches(item));
    },
  };
}
