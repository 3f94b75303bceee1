// The target of a proxied request, and the request inside it. Parsed once, on arrival.

import { PROXY_TARGET_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import {
  type ApiError,
  badRequestError,
  isApiError,
  resourceNotFoundError,
} from "@postern/apimachinery/meta/api-error";
import { isDNS1123Label, isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import {
  canonicalPath,
  connecting,
  type InnerRequest,
  isDotSegment,
  isLongRunning,
  type RequestInfo,
  type ResolvedRequest,
  resolveNonResource,
  resolveRequestInfo,
} from "@postern/apiserver/request/request-info";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ProxyRequest } from "./platform-request.ts";

/** An invalid path is refused after authentication; until then the refusal is kept here. */
export class ProxiedCall implements InnerRequest {
  /** Where it leads. Undefined where that is nowhere. */
  readonly path: ProxyPath | undefined;
  readonly pathRefusal: ApiError | undefined;
  readonly info: RequestInfo | undefined;
  readonly annotations: { readonly [key: string]: string };
  readonly #infoRefusal: ApiError | undefined;

  constructor(request: ApiRequest, { info, refusal }: ResolvedRequest) {
    const { method, path, query } = request;
    const read =
      refusal === undefined ? unlessRefused(() => parseProxyPath(path, info.path)) : { value: undefined, refusal };
    this.path = read.value;
    this.pathRefusal = read.refusal;
    const encodedPath = read.value?.encodedPath;
    const inner =
      encodedPath === undefined
        ? NOTHING
        : unlessRefused(() => connecting(request, resolveRequestInfo(method, encodedPath, query)));
    this.info = inner.value;
    this.#infoRefusal = inner.refusal;
    this.annotations =
      read.value === undefined || inner.value === undefined ? {} : { [PROXY_TARGET_ANNOTATION]: targetOf(read.value) };
  }

  /** Throws ApiError 400 for a path that can be read in more than one way, and 404 for one that leads nowhere. */
  destination(): { readonly path: ProxyPath; readonly info: RequestInfo; readonly request: ProxyRequest } {
    if (this.pathRefusal !== undefined) throw this.pathRefusal;
    const { path, info } = this;
    if (path === undefined) throw resourceNotFoundError();
    if (info === undefined) throw this.#infoRefusal;
    return { path, info, request: { ...path.destination, inner: info } };
  }
}

export function resolveProxiedRequest(request: ApiRequest): ResolvedRequest {
  const outer = resolveNonResource(request);
  const innerRequest = new ProxiedCall(request, outer);
  return { ...outer, innerRequest, isLongRunning: isProxiedLongRunning(request, outer, innerRequest) };
}

/** The request inside decides. A refused request is not long-running. */
function isProxiedLongRunning(
  request: ApiRequest,
  outer: ResolvedRequest,
  { path, pathRefusal, info }: ProxiedCall,
): boolean {
  if (pathRefusal !== undefined) return false;
  if (path === undefined) return outer.isLongRunning;
  return info !== undefined && isLongRunning(request, info);
}

/** What the request of a context asks for through the proxy. Throws as `destination` does. */
export function proxiedCallOf({ innerRequest }: { readonly innerRequest: InnerRequest | undefined }) {
  if (!(innerRequest instanceof ProxiedCall)) throw new Error("the request did not come through the proxy");
  return innerRequest.destination();
}

type Read<T> = { readonly value: T | undefined; readonly refusal: ApiError | undefined };

const NOTHING = { value: undefined, refusal: undefined };

function unlessRefused<T>(read: () => T): Read<T> {
  try {
    return { value: read(), refusal: undefined };
  } catch (error) {
    if (isApiError(error)) return { value: undefined, refusal: error };
    throw error;
  }
}

function targetOf({ destination }: ProxyPath): string {
  switch (destination.target) {
    case "ProjectVirtualCluster":
      return `virtualcluster/${destination.project}/${destination.virtualCluster}`;
    case "ProjectSpace":
      return `space/${destination.project}/${destination.space}`;
    case "Cluster":
      return `cluster/${destination.cluster}`;
  }
}

// Reads the path of a proxied request, once: which cluster, space or virtual cluster it goes to, and what it asks for there.

type Destination =
  | { readonly target: "ProjectVirtualCluster"; readonly project: string; readonly virtualCluster: string }
  | { readonly target: "ProjectSpace"; readonly project: string; readonly space: string }
  | { readonly target: "Cluster"; readonly cluster: string };

export type ProxyPath = {
  readonly destination: Destination;
  /** The part before the path of the API behind the proxy, without a trailing slash. */
  readonly base: string;
  /** The path at the API behind the proxy, decoded: `/` at least. */
  readonly path: string;
  /** The path, encoded again from the decoded one, so that the forwarded path is the authorized one. */
  readonly encodedPath: string;
};

const PROXIES = /^\/+kubernetes\/+(?:project|cluster)(?:\/|$)/;
/** Read as separators or parameters by some servers and as plain text by others. */
const ENCODED_SEPARATOR = /%2f|%5c/i;

/**
 * Undefined for a path that is no proxy's. `path` is percent-encoded, without its query; `canonical` is its canonical form.
 * Throws ApiError 400 for a path that two programs could read in two ways, or that names what cannot exist.
 */
export function parseProxyPath(path: string, canonical = canonicalPath(path)): ProxyPath | undefined {
  if (!PROXIES.test(canonical)) return undefined;
  if (ENCODED_SEPARATOR.test(path)) throw badRequestError("the request path contains an encoded separator");
  const segments = canonical.slice(1).split("/");
  refuseAmbiguousSegments(segments);

  const destination = readDestination(segments);
  if (destination === undefined) return undefined;
  const length = destination.target === "Cluster" ? 3 : 5;
  const base = `/${segments.slice(0, length).join("/")}`;
  if (!path.startsWith(base)) throw badRequestError("the request path encodes the name of its target");
  const rest = segments.slice(length);
  return {
    destination,
    base,
    path: `/${rest.join("/")}`,
    encodedPath: `/${rest.map(encodeURIComponent).join("/")}`,
  };
}

/** The request of a proxied path. Throws ApiError 400 as parsing of any API path does. */
export const proxyRequest = (
  { destination, encodedPath }: ProxyPath,
  method: string,
  query: URLSearchParams,
): ProxyRequest => ({ ...destination, inner: resolveRequestInfo(method, encodedPath, query) });

/** A slash at the end is harmless; an empty segment anywhere else is dropped by some programs and kept by others. */
function refuseAmbiguousSegments(segments: readonly string[]): void {
  const isEmptyInside = (segment: string, at: number): boolean => segment === "" && at < segments.length - 1;
  if (segments.some(isEmptyInside)) throw badRequestError("the request path contains an empty segment");
  if (segments.some(isDotSegment)) throw badRequestError("the request path contains a dot segment");
}

/** Undefined if the path ends before the target, or names an unknown kind of target. */
function readDestination([, root, first = "", kind, second = ""]: readonly string[]): Destination | undefined {
  if (first === "") return undefined;
  if (root === "cluster") {
    refuseBadName(first, isDNS1123Subdomain);
    return { target: "Cluster", cluster: first };
  }
  if (second === "" || (kind !== "virtualcluster" && kind !== "space")) return undefined;
  refuseBadName(first, isDNS1123Label);
  refuseBadName(second, isDNS1123Subdomain);
  return kind === "virtualcluster"
    ? { target: "ProjectVirtualCluster", project: first, virtualCluster: second }
    : { target: "ProjectSpace", project: first, space: second };
}

function refuseBadName(name: string, validate: (name: string) => readonly string[]): void {
  const [fault] = validate(name);
  if (fault !== undefined) throw badRequestError(`the request path names an invalid target: ${fault}`);
}
