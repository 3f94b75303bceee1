// Target of a request: resource, verb and name, resolved from its method and path once, on arrival. Router, authorizer, proxy and audit use it and never
// the raw URL.
// Source: k8s.io/apiserver/pkg/endpoints/request/requestinfo.go, k8s.io/apiserver/pkg/server/filters/longrunning.go

import { type ApiError, badRequestError, isApiError } from "@postern/apimachinery/meta/api-error";
import { parseFieldSelector } from "@postern/apimachinery/selectors/field-selector";
import { SelectorError } from "@postern/apimachinery/selectors/label-requirement";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import type { ApiRequest } from "../transport/api-request.ts";
import { canonicalPath, isDotSegment } from "./canonical-path.ts";
import { listOptionsOf } from "./query-options.ts";
import { queryBoolean } from "./query-values.ts";

/** Verbs as Kubernetes names them. Requests outside the resource tree carry the lower-case HTTP method. */
export type Verb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection"
  | (string & {});

export type RequestInfo = {
  readonly isResourceRequest: boolean;
  /** The whole canonical path, below the base path of the server. */
  readonly path: string;
  readonly verb: Verb;
  /** `api` or `apis`; "" outside the resource tree. */
  readonly apiPrefix: string;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** The path segments from the resource on. */
  readonly parts: readonly string[];
  readonly fieldSelector: string;
  readonly labelSelector: string;
};

export type ResolvedRequest = {
  readonly info: RequestInfo;
  /** The refusal of a path that can be read in more than one way. */
  readonly refusal?: ApiError | undefined;
  /** Such a request has no deadline, and no place in flow control. */
  readonly isLongRunning: boolean;
  /** The proxied request, as the API behind the proxy sees it. Absent: it is not proxied. */
  readonly innerRequest?: InnerRequest | undefined;
};

export type InnerRequest = {
  /** Undefined if its path is refused. */
  readonly info: RequestInfo | undefined;
  /** Added to the audit event of the request. */
  readonly annotations: { readonly [key: string]: string };
};

export const resolveRequest = (request: ApiRequest): ResolvedRequest =>
  resolved(request, ({ method, path, query }) => connecting(request, resolveRequestInfo(method, path, query)));

/** Subresources that start something in a container or node, or send to it, whatever the method: a WebSocket begins with GET. */
const STREAM_SUBRESOURCES: readonly string[] = ["attach", "exec", "portforward"];
/** The paths of a kubelet that only read. All others, such as `exec`, `run` and `debug`, do more. */
const KUBELET_READS: readonly string[] = [
  ...[
    "configz",
    "containerLogs",
    "flagz",
    "healthz",
    "logs",
    "metrics",
    "pods",
    "runningpods",
    "spec",
    "stats",
    "statusz",
  ],
];

/**
 * Requests that open a connection need `create`, whatever their method (KEP-4006): a verb that only reads must not reach into a container.
 * Upgraded watches and logs do read.
 */
export function connecting({ upgrade }: Pick<ApiRequest, "upgrade">, info: RequestInfo): RequestInfo {
  const { isResourceRequest, apiGroup, resource, subresource, verb, parts } = info;
  if (!isResourceRequest || verb === "create") return info;
  const isKubelet = apiGroup === "" && resource === "nodes" && subresource === "proxy";
  const opens =
    STREAM_SUBRESOURCES.includes(subresource) ||
    (isKubelet && !KUBELET_READS.includes(parts[3] ?? "")) ||
    (isConnection(upgrade) &&
      !(verb === "watch" && subresource === "") &&
      !(resource === "pods" && subresource === "log"));
  return opens ? { ...info, verb: "create" } : info;
}

/** `h2c` stays HTTP, and nothing here forwards it. */
const isConnection = (upgrade: ApiRequest["upgrade"]): boolean =>
  upgrade !== undefined && upgrade.protocol.trim().toLowerCase() !== "h2c";

/** The same for a path that is known to be outside the resource tree. */
export const resolveNonResource = (request: ApiRequest): ResolvedRequest =>
  resolved(request, ({ method, path }) => checkedNonResource(nonResourceInfo(method, canonicalPath(path))));

function resolved(request: ApiRequest, infoOf: (request: ApiRequest) => RequestInfo): ResolvedRequest {
  const { method, path } = request;
  try {
    const info = infoOf(request);
    return { info, refusal: undefined, isLongRunning: isLongRunning(request, info), innerRequest: undefined };
  } catch (error) {
    if (!isApiError(error)) throw error;
    const info = nonResourceInfo(method, path);
    return { info, refusal: error, isLongRunning: isLongRunning(request, info), innerRequest: undefined };
  }
}

export type LongRunningCheck = (request: ApiRequest, info: RequestInfo) => boolean;

const LASTING_VERBS: readonly string[] = ["watch", "proxy"];
const LASTING_SUBRESOURCES: readonly string[] = ["attach", "exec", "log", "portforward", "proxy"];

/** Watches, upgraded connections, proxies and streams. */
export const isLongRunning: LongRunningCheck = (request, info) =>
  request.upgrade !== undefined ||
  (info.isResourceRequest && (LASTING_VERBS.includes(info.verb) || LASTING_SUBRESOURCES.includes(info.subresource)));

const VERB_OF_METHOD: ReadonlyMap<string, Verb> = new Map([
  ["GET", "get"],
  ["HEAD", "get"],
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

/** Verbs that old paths name in front of the resource: `/api/v1/watch/pods`. */
const PATH_VERBS: readonly string[] = ["proxy", "watch"];
/** Segments after `/namespaces/{name}/` that are not resources in that namespace. */
const NAMESPACE_SUBRESOURCES: readonly string[] = ["status", "finalize"];

/** `path` is percent-encoded, below the base path. Throws ApiError 400 for a path that can be read in more than one way. */
export function resolveRequestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const canonical = canonicalPath(path);
  // Slashes doubled at either end are nothing that the resource tree serves.
  if (canonical.startsWith("//") || canonical.endsWith("//"))
    return checkedNonResource(nonResourceInfo(method, canonical));
  const segments = splitPath(canonical);
  const prefix = segments[0] ?? "";
  if (prefix === "api" && segments.length >= 3) return resourceInfo(canonical, method, segments, 1, query);
  if (prefix === "apis" && segments.length >= 4) return resourceInfo(canonical, method, segments, 2, query);
  const named = segments.length >= 3 && prefix === "apis";
  const outside = nonResourceInfo(method, canonical);
  return checkedNonResource(named ? { ...outside, apiPrefix: prefix } : outside);
}

/** Information about a request whose path cannot be parsed. */
export const nonResourceInfo = (method: string, path: string): RequestInfo => ({
  isResourceRequest: false,
  path,
  verb: method.toLowerCase(),
  apiPrefix: "",
  apiGroup: "",
  apiVersion: "",
  namespace: "",
  resource: "",
  subresource: "",
  name: "",
  parts: [],
  fieldSelector: "",
  labelSelector: "",
});

function checkedNonResource(info: RequestInfo): RequestInfo {
  if (info.path.includes("/.")) refuseDotSegments(info.path.split("/"));
  return info;
}

/** `versionAt` is the index of the version: after the prefix, or after the group. */
function resourceInfo(
  path: string,
  method: string,
  segments: readonly string[],
  versionAt: number,
  query: URLSearchParams,
): RequestInfo {
  let at = versionAt + 1;
  const pathVerb = segments[at] ?? "";
  const verbInPath = PATH_VERBS.includes(pathVerb);
  if (verbInPath) {
    at += 1;
    if (at >= segments.length) throw badRequestError("unable to determine kind and namespace from url");
  }
  let namespace = "";
  if (segments[at] === "namespaces" && segments.length > at + 1) {
    namespace = segments[at + 1] ?? "";
    if (segments.length > at + 2 && !NAMESPACE_SUBRESOURCES.includes(segments[at + 2] ?? "")) at += 2;
  }
  const parts = segments.slice(at);
  if (path.includes("/.")) refuseDotSegments([...segments.slice(0, at), parts[0] ?? "", ...parts.slice(2)]);

  const [resource = "", name = "", third = ""] = parts;
  const verb = verbInPath ? pathVerb : (VERB_OF_METHOD.get(method) ?? "");
  const info: RequestInfo = {
    isResourceRequest: true,
    path,
    verb,
    apiPrefix: segments[0] ?? "",
    apiGroup: versionAt === 1 ? "" : (segments[1] ?? ""),
    apiVersion: segments[versionAt] ?? "",
    namespace,
    resource,
    subresource: verb === "proxy" ? "" : third,
    name,
    parts,
    fieldSelector: "",
    labelSelector: "",
  };
  if (verbInPath || name !== "" || (verb !== "get" && verb !== "delete")) return info;
  return collectionInfo(info, query);
}

/** Without a name, a get is a list or a watch, and a delete is one of the whole collection. */
function collectionInfo(info: RequestInfo, query: URLSearchParams): RequestInfo {
  const selectors = {
    fieldSelector: query.get("fieldSelector") ?? "",
    labelSelector: query.get("labelSelector") ?? "",
  };
  if (info.verb === "delete") return { ...info, ...selectors, verb: "deletecollection" };
  const verb = queryBoolean(query, "watch") ? "watch" : "list";
  return { ...info, ...selectors, verb, name: selectors.fieldSelector === "" ? "" : selectedName(query) };
}

/** The one name that a list or watch selects, so that it is authorised like access to that object. */
function selectedName(query: URLSearchParams): string {
  try {
    const { fieldSelector = "" } = listOptionsOf(query);
    const name = parseFieldSelector(fieldSelector).requiresExactMatch("metadata.name") ?? "";
    return isValidPathSegmentName(name).length === 0 ? name : "";
  } catch (error) {
    // The handler refuses the options with a better text, once the caller is known to be allowed to list.
    if (error instanceof SelectorError || isApiError(error)) return "";
    throw error;
  }
}

/** Only as the name of an object is a dot segment harmless: there it names nothing. */
function refuseDotSegments(segments: readonly string[]): void {
  if (segments.some(isDotSegment)) throw badRequestError("the request path contains a dot segment");
}

function splitPath(path: string): readonly string[] {
  const start = path.startsWith("/") ? 1 : 0;
  const end = path.endsWith("/") && path.length > start ? path.length - 1 : path.length;
  return end <= start ? [] : path.slice(start, end).split("/");
}
