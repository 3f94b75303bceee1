// The target of a proxied request, and the request inside it. Parsed once, on arrival.

import { PROXY_TARGET_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { type ApiError, isApiError, resourceNotFoundError } from "@postern/apimachinery/meta/api-error";
import {
  connecting,
  type InnerRequest,
  isLongRunning,
  type RequestInfo,
  type ResolvedRequest,
  resolveNonResource,
  resolveRequestInfo,
} from "@postern/apiserver/request/request-info";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ProxyRequest } from "./platform-request.ts";
import { type ProxyPath, parseProxyPath } from "./proxy-path.ts";

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

/** Request through the proxy that a context is about. Throws as `destination` does. */
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
