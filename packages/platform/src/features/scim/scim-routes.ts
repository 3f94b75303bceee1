// /scim/v2: directories provision users and groups. Every request is sent to the management API with the same key.
// Source: RFC 7644, RFC 7643

import type { PlatformNames } from "@postern/api/platform-names";
import { isJsonArray, isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { textOf } from "@postern/apimachinery/json/lenient-json";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { LONG_WORK_BYTES } from "@postern/apiserver/limits/long-work";
import { presentedToken, tokenWithProof } from "@postern/apiserver/request/credentials";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { Foundation } from "../../foundation/foundation.ts";
import { allowExchange } from "../../foundation/http/anonymous-callers.ts";
import { type FeatureRoute, isBelow } from "../../foundation/http/feature-route.ts";
import { type CallManagement, LongAnswerError, type ManagementCall } from "../../foundation/http/management-call.ts";
import type { AccessKeys } from "../access-keys/feature.ts";
import { objectNameFor } from "../directory/object-name.ts";
import { describeService, MAX_RESULTS, SCIM_ROLE } from "./scim-description.ts";
import { ScimFault } from "./scim-fault.ts";
import { parseFilter } from "./scim-filter.ts";
import { applyPatch } from "./scim-patch.ts";
import { nameOf, SCIM_TYPES, type ScimType } from "./scim-resources.ts";
import { listResponse, NO_CONTENT, scimError, scimErrorResponse, scimResponse } from "./scim-response.ts";
import { withTypedValues } from "./scim-values.ts";

const SCIM_PATH = "/scim/v2";

const MAX_BODY = 1024 * 1024;
const ATTEMPTS = 5;
/** Objects, and bytes of several objects, that are read at once: other requests get a turn between pages. */
const PAGE = 500;
const PAGE_BYTES = 2 * 1024 * 1024;
/** How many times fewer objects are read after a page that was too long. */
const FEWER = 8;
/** A list ends before the resource that would exceed this, unless it is the first. Members take many times as many bytes as their names. */
const ANSWER_BYTES = 4 * 1024 * 1024;

export type ScimNeeds = {
  readonly keys: AccessKeys;
  readonly call: CallManagement;
  readonly publicUrl: () => string;
};

/** The request goes on to the management API, which decides about it. */
export const scimRoute = ({ names }: Foundation, { keys, call, publicUrl }: ScimNeeds): FeatureRoute => ({
  takes: (path) => isBelow(path, SCIM_PATH),
  async handle(context) {
    try {
      checkKey(context, keys.index);
      return await answerScim(context, { names, call, base: `${publicUrl()}${SCIM_PATH}` });
    } catch (error) {
      if (error instanceof ScimFault) return scimError(error.status, error.message, error.scimType);
      throw error;
    }
  },
  authorizer: allowExchange,
  errorResponse: scimErrorResponse,
});

/** `base`: URL of the service. */
type Scim = { readonly names: PlatformNames; readonly call: CallManagement; readonly base: string };

/** The key must have the role scim: a key that may do everything is not accepted. */
function checkKey({ credential }: RequestContext, keys: Pick<AccessKeys["index"], "byId">): void {
  const key = credential === undefined ? undefined : keys.byId(credential.id);
  if (key === undefined) throw new ScimFault(401, "an access key is missing");
  if (key.restrictions?.scope?.roles.some(({ role }) => role === SCIM_ROLE) !== true)
    throw new ScimFault(403, `the scope of the access key has no role ${SCIM_ROLE}`);
}

async function answerScim(context: RequestContext, scim: Scim): Promise<ApiResponse> {
  const { request, info } = context;
  const { method } = request;
  const segments = segmentsBelow(info.path);
  const [first = "", id, ...rest] = segments;
  const type = SCIM_TYPES.find((each) => each.path === first);
  const isEmptySegment = segments.length > 1 && segments.includes("");
  if (rest.length > 0 || isEmptySegment || info.path.length > 1_000)
    throw new ScimFault(404, "there is no such resource");
  if (type === undefined) return describeService(first, id, method, scim.base);
  const call = callAs(context, scim);
  if (id === undefined) {
    if (method === "GET") return await list(type, request.query, call, scim);
    if (method === "POST") return await create(type, await bodyOf(context), call, scim);
    throw new ScimFault(405, "the method is not supported");
  }
  switch (method) {
    case "GET":
      return scimResponse(
        200,
        shown(type.toScim(await read(type, id, call), scim.base, scim.names.domain), request.query),
      );
    case "PUT":
      return await change(type, id, (_, body) => withTypedValues(type.name, body), await bodyOf(context), call, scim);
    case "PATCH": {
      // Each operation of a small request may go over all members of a group.
      context.weigh(LONG_WORK_BYTES);
      const apply = (resource: JsonObject, body: JsonObject) => context.inParts(applyPatch(type.name, resource, body));
      return patched(type, await change(type, id, apply, await bodyOf(context), call, scim));
    }
    case "DELETE":
      await read(type, id, call);
      await call("DELETE", id, type);
      return NO_CONTENT;
    default:
      throw new ScimFault(405, "the method is not supported");
  }
}

/** A slash at the end is harmless: the collection answers. */
const segmentsBelow = (path: string): readonly string[] =>
  path
    .slice(SCIM_PATH.length + 1)
    .replace(/\/$/, "")
    .split("/");

/** A group may have many members, so the response to a change does not return them. */
const patched = ({ name }: ScimType, answer: ApiResponse): ApiResponse => (name === "Group" ? NO_CONTENT : answer);

type CallMore = Pick<ManagementCall, "query" | "body" | "maxBytes">;
type Call = (method: string, name: string, type: ScimType, more?: CallMore) => Promise<JsonObject>;

/** Rejects with ScimFault. For a large response, other requests get a turn first. */
const callAs = (context: RequestContext, { call }: Scim): Call => {
  const { request } = context;
  const key = presentedToken(request) ?? tokenWithProof(request) ?? "";
  return async (method, name, { plural }, more = {}) => {
    // Without a name, a change would be one of the whole collection.
    if (name === "" && method !== "GET" && method !== "POST") throw new ScimFault(404, "there is no such resource");
    const path = name === "" ? plural : `${plural}/${encodeURIComponent(name)}`;
    const answer = await call({ method, path, key, from: request.remoteAddress, ...more });
    context.weigh(answer.size);
    await context.pause();
    if (answer.status < 300) return answer.body;
    const message = textOf(answer.body["message"]);
    if (answer.status === 409) throw new ScimFault(409, message, "uniqueness");
    throw new ScimFault(
      answer.status === 422 ? 400 : answer.status,
      message,
      answer.status === 422 ? "invalidValue" : "",
    );
  };
};

/** Directories do not see bots. */
const isPerson = (object: JsonObject): boolean => !isJsonObject(object["spec"]) || object["spec"]["kind"] !== "Bot";

async function read(type: ScimType, id: string, call: Call): Promise<JsonObject> {
  const object = await call("GET", id, type);
  if (!isPerson(object)) throw new ScimFault(404, "there is no such resource");
  return object;
}

function noPage(error: unknown): undefined {
  if (!(error instanceof LongAnswerError)) throw error;
}

/** Page by page. */
async function* listed(type: ScimType, call: Call, { base, names }: Scim): AsyncGenerator<JsonObject> {
  let next = "";
  let limit = PAGE;
  for (;;) {
    const query = { limit: String(limit), ...(next === "" ? {} : { continue: next }) };
    const page = await call("GET", "", type, { query, ...(limit === 1 ? {} : { maxBytes: PAGE_BYTES }) }).catch(noPage);
    if (page === undefined) {
      limit = Math.ceil(limit / FEWER);
      continue;
    }
    limit = Math.min(PAGE, limit * 2);
    const { items, metadata } = page;
    for (const item of isJsonArray(items) ? items : [])
      if (isJsonObject(item) && isPerson(item)) yield type.toScim(item, base, names.domain);
    next = isJsonObject(metadata) ? textOf(metadata["continue"]) : "";
    if (next === "") return;
  }
}

async function list(type: ScimType, query: URLSearchParams, call: Call, scim: Scim): Promise<ApiResponse> {
  const text = query.get("filter") ?? "";
  const filter = text === "" ? () => true : parseFilter(text);
  const startIndex = Math.max(1, integerIn(query, "startIndex", 1));
  const count = Math.min(MAX_RESULTS, Math.max(0, integerIn(query, "count", MAX_RESULTS)));
  const page: string[] = [];
  let totalResults = 0;
  let left = ANSWER_BYTES;
  for await (const resource of listed(type, call, scim)) {
    if (!filter(resource)) continue;
    totalResults++;
    if (totalResults < startIndex || page.length >= count || left <= 0) continue;
    const text = JSON.stringify(shown(resource, query));
    left -= text.length;
    if (left > 0 || page.length === 0) page.push(text);
  }
  return listResponse(page, { totalResults, startIndex });
}

async function create(type: ScimType, sent: JsonObject, call: Call, scim: Scim): Promise<ApiResponse> {
  const { base, names } = scim;
  const body = withTypedValues(type.name, sent);
  const title = textOf(body[type.title]);
  if (title === "") throw new ScimFault(400, `${type.title} is missing`, "invalidValue");
  await checkFree(type, title, "", call, scim);
  const name = objectNameFor(title);
  const empty = { apiVersion: `${names.managementGroup}/v1`, kind: type.kind, metadata: { name }, spec: {} };
  const object = type.fromScim(body, empty, names.domain);
  const made = await call("POST", "", type, { body: withSubject(object, type, title, name) });
  const resource = type.toScim(made, base, names.domain);
  return scimResponse(201, resource, { location: `${base}/${type.path}/${nameOf(made)}` });
}

/** Throws ScimFault 409 if another one has the name. */
async function checkFree(type: ScimType, title: string, id: string, call: Call, scim: Scim): Promise<void> {
  const wanted = title.toLowerCase();
  for await (const other of listed(type, call, scim)) {
    if (textOf(other["id"]) !== id && textOf(other[type.title]).toLowerCase() === wanted)
      throw new ScimFault(409, `${type.title} is taken`, "uniqueness");
  }
}

/** Permissions are granted to the name in the directory. */
const withSubject = (object: JsonObject, { name: type }: ScimType, title: string, name: string): JsonObject =>
  type === "Group" || title === name || !isJsonObject(object["spec"])
    ? object
    : { ...object, spec: { ...object["spec"], subject: title } };

async function change(
  type: ScimType,
  id: string,
  make: (resource: JsonObject, body: JsonObject) => Awaitable<JsonObject>,
  body: JsonObject,
  call: Call,
  scim: Scim,
): Promise<ApiResponse> {
  const { base, names } = scim;
  for (let attempt = 1; ; attempt++) {
    const object = await read(type, id, call);
    const before = type.toScim(object, base, names.domain);
    const after = await make(before, body);
    const title = textOf(after[type.title]);
    if (title === "") throw new ScimFault(400, `${type.title} is missing`, "invalidValue");
    if (title !== before[type.title]) await checkFree(type, title, id, call, scim);
    const next = type.fromScim(after, object, names.domain);
    try {
      const written = await call("PUT", id, type, { body: next });
      return scimResponse(200, type.toScim(written, base, names.domain));
    } catch (error) {
      const isRace = error instanceof ScimFault && error.status === 409;
      if (!isRace || attempt === ATTEMPTS) throw error;
    }
  }
}

async function bodyOf({ request }: RequestContext): Promise<JsonObject> {
  try {
    const body = parseJson(await request.body(MAX_BODY), { maxDepth: 20 });
    if (isJsonObject(body)) return body;
  } catch (error) {
    if (isApiError(error)) throw error;
  }
  throw new ScimFault(400, "the body must be a JSON object", "invalidSyntax");
}

function integerIn(query: URLSearchParams, name: string, otherwise: number): number {
  const value = Number(query.get(name) ?? otherwise);
  return Number.isSafeInteger(value) ? value : otherwise;
}

/** Section 3.9. */
function shown(resource: JsonObject, query: URLSearchParams): JsonObject {
  const namesIn = (parameter: string): readonly string[] =>
    (query.get(parameter) ?? "").split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim().toLowerCase()]));
  const [wanted, unwanted] = [namesIn("attributes"), namesIn("excludedAttributes")];
  const always = ["schemas", "id", "meta"];
  return Object.fromEntries(
    Object.entries(resource).filter(([name]) => {
      const folded = name.toLowerCase();
      if (always.includes(folded)) return true;
      return (wanted.length === 0 || wanted.includes(folded)) && !unwanted.includes(folded);
    }),
  );
}
