// Requests and responses as flat lists: a message of one list of short texts takes a third of the time of nested objects.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestInfo } from "@postern/apiserver/request/request-info";
import type { RequestHeaders } from "@postern/apiserver/transport/api-request";
import type { ResponseHeaders } from "@postern/apiserver/transport/api-response";
import type { AuditCall, CredentialMessage, RequestMessage, ResponseMessage } from "./request-messages.ts";

type PackedUser = readonly [
  name: string,
  groups: readonly string[],
  uid: string | undefined,
  extra: UserInfo["extra"] | undefined,
];

export type PackedRequest = readonly [
  uid: string,
  request: number,
  flags: number,
  method: string,
  path: string,
  basePath: string,
  query: string,
  requestUri: string,
  headers: string,
  remoteAddress: string,
  host: string,
  connection: number,
  upgrade: string | undefined,
  user: PackedUser,
  /** Undefined: the user. */
  caller: PackedUser | undefined,
  credential: CredentialMessage | undefined,
  receivedAt: number,
  auditId: string,
  body: Uint8Array | undefined,
  /** Undefined: that of the request. */
  infoPath: string | undefined,
  verb: string,
  apiPrefix: string,
  apiGroup: string,
  apiVersion: string,
  namespace: string,
  resource: string,
  subresource: string,
  name: string,
  parts: readonly string[],
  fieldSelector: string,
  labelSelector: string,
];

const AUTHORIZES = 1;
const IS_OPEN = 2;
const TAKES_TURNS = 4;
const GOES_OUTSIDE = 8;
const IS_LONG_RUNNING = 16;
const KEEPS_BODIES = 32;
const IS_HTTP2 = 64;
const IS_RESOURCE = 128;

export function packRequest(message: RequestMessage): PackedRequest {
  const { info, user, caller, has, path } = message;
  const flags =
    (has.outerAuthorizer ? AUTHORIZES : 0) |
    (has.open ? IS_OPEN : 0) |
    (has.takeTurn ? TAKES_TURNS : 0) |
    (has.outside ? GOES_OUTSIDE : 0) |
    (message.isLongRunning ? IS_LONG_RUNNING : 0) |
    (message.keepsBodies ? KEEPS_BODIES : 0) |
    (message.httpVersion === "2.0" ? IS_HTTP2 : 0) |
    (info.isResourceRequest ? IS_RESOURCE : 0);
  return [
    message.uid,
    message.request,
    flags,
    message.method,
    path,
    message.basePath,
    message.query,
    message.requestUri,
    // The thread gets no value that opens anything.
    packHeaders(message.headers, CREDENTIALS),
    message.remoteAddress,
    message.host,
    message.connection,
    message.upgrade,
    packUser(user),
    caller === user ? undefined : packUser(caller),
    message.credential,
    message.receivedAt,
    message.auditId,
    message.body,
    info.path === path ? undefined : info.path,
    info.verb,
    info.apiPrefix,
    info.apiGroup,
    info.apiVersion,
    info.namespace,
    info.resource,
    info.subresource,
    info.name,
    info.parts,
    info.fieldSelector,
    info.labelSelector,
  ];
}

export function unpackRequest(packed: PackedRequest): RequestMessage {
  const [uid, request, flags, method, path, basePath, query, requestUri, headers, remoteAddress, host] = packed;
  const user = unpackUser(packed[13]);
  const info: RequestInfo = {
    isResourceRequest: (flags & IS_RESOURCE) !== 0,
    path: packed[19] ?? path,
    verb: packed[20],
    apiPrefix: packed[21],
    apiGroup: packed[22],
    apiVersion: packed[23],
    namespace: packed[24],
    resource: packed[25],
    subresource: packed[26],
    name: packed[27],
    parts: packed[28],
    fieldSelector: packed[29],
    labelSelector: packed[30],
  };
  return {
    uid,
    request,
    method,
    path,
    basePath,
    query,
    requestUri,
    headers: unpackHeaders(headers),
    httpVersion: (flags & IS_HTTP2) === 0 ? "1.1" : "2.0",
    remoteAddress,
    host,
    connection: packed[11],
    upgrade: packed[12],
    info,
    user,
    caller: packed[14] === undefined ? user : unpackUser(packed[14]),
    credential: packed[15],
    has: {
      outerAuthorizer: (flags & AUTHORIZES) !== 0,
      open: (flags & IS_OPEN) !== 0,
      takeTurn: (flags & TAKES_TURNS) !== 0,
      outside: (flags & GOES_OUTSIDE) !== 0,
    },
    isLongRunning: (flags & IS_LONG_RUNNING) !== 0,
    receivedAt: packed[16],
    auditId: packed[17],
    keepsBodies: (flags & KEEPS_BODIES) !== 0,
    body: packed[18],
  };
}

const packUser = ({ name, groups, uid, extra }: UserInfo): PackedUser => [name, groups, uid, extra];

const unpackUser = ([name, groups, uid, extra]: PackedUser): UserInfo => ({
  name,
  groups,
  ...(uid !== undefined && { uid }),
  ...(extra !== undefined && { extra }),
});

const CREDENTIALS: ReadonlySet<string> = new Set(["authorization", "cookie"]);
const NO_NAMES: ReadonlySet<string> = new Set();
/** No header holds it. */
const SEPARATOR = "\0";
const LIST = "\n";

/** Names and values in one text; the values of a list, each behind a line break. */
export function packHeaders(headers: RequestHeaders, leftOut: ReadonlySet<string> = NO_NAMES): string {
  let text = "";
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || leftOut.has(name)) continue;
    const shown = typeof value === "string" ? value : value.map((each) => LIST + each).join("");
    text += text === "" ? name + SEPARATOR + shown : SEPARATOR + name + SEPARATOR + shown;
  }
  return text;
}

export function unpackHeaders(text: string): { readonly [name: string]: string | readonly string[] } {
  const headers: { [name: string]: string | readonly string[] } = {};
  if (text === "") return headers;
  const parts = text.split(SEPARATOR);
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const [name = "", value = ""] = [parts[at], parts[at + 1]];
    // As an object has no such member of its own, no handler can ask for it.
    if (name === "__proto__") continue;
    headers[name] = value.startsWith(LIST) ? value.slice(1).split(LIST) : value;
  }
  return headers;
}

const BYTES = 0;
const STREAM = 1;
const UPGRADED = 2;

export type PackedResponse = readonly [
  status: number,
  type: typeof BYTES | typeof STREAM | typeof UPGRADED,
  headers: string,
  bytes: Uint8Array | string | undefined,
  audit: readonly AuditCall[] | undefined,
  warnings: readonly string[] | undefined,
];

export const packResponse = ({
  status,
  headers,
  bytes,
  isUpgraded,
  audit,
  warnings,
}: ResponseMessage): PackedResponse => [
  status,
  bytes !== undefined ? BYTES : isUpgraded ? UPGRADED : STREAM,
  packHeaders(headers),
  bytes,
  audit.length === 0 ? undefined : audit,
  warnings.length === 0 ? undefined : warnings,
];

const NONE: readonly never[] = [];

export const unpackResponse = ([
  status,
  type,
  headers,
  bytes,
  audit = NONE,
  warnings = NONE,
]: PackedResponse): ResponseMessage => ({
  status,
  headers: unpackHeaders(headers) satisfies ResponseHeaders,
  bytes: type === BYTES ? bytes : undefined,
  isUpgraded: type === UPGRADED,
  audit,
  warnings,
});
