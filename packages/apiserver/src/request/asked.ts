// What a request asks for: read from its path once, when it comes in, and by nobody again.
// Source: k8s.io/apiserver/pkg/server/filters/longrunning.go

import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { ApiRequest } from "../transport/api-request.ts";
import type { RequestInfo } from "./request-info.ts";
import { nonResourceInfo, resolveRequestInfo } from "./request-info-resolver.ts";

export type Asked = {
  readonly info: RequestInfo;
  /** Of a path that can be read in more than one way. */
  readonly refusal?: ApiError | undefined;
  /** Whether it may last: then it has no deadline, and takes no place of those that are worked on. */
  readonly isLongRunning: boolean;
  /** What it asks of an API that lies behind the one it was sent to. Absent: it is answered there. */
  readonly behind?: Behind | undefined;
};

export type Behind = {
  /** Undefined where its path cannot be read. */
  readonly info: RequestInfo | undefined;
  /** Added to what is recorded of the request. */
  readonly annotations: { readonly [key: string]: string };
};

export function readAsked(request: ApiRequest): Asked {
  const { method, path, query } = request;
  try {
    const info = resolveRequestInfo(method, path, query);
    return { info, refusal: undefined, isLongRunning: isLongRunning(request, info), behind: undefined };
  } catch (error) {
    if (!isApiError(error)) throw error;
    const info = nonResourceInfo(method, path);
    return { info, refusal: error, isLongRunning: isLongRunning(request, info), behind: undefined };
  }
}

export type LongRunningCheck = (request: ApiRequest, info: RequestInfo) => boolean;

const VERBS: readonly string[] = ["watch", "proxy"];
const SUBRESOURCES: readonly string[] = ["attach", "exec", "log", "portforward", "proxy"];

/** Watches, upgraded connections, proxies and streams. */
export const isLongRunning: LongRunningCheck = (request, info) =>
  request.upgrade !== undefined ||
  (info.isResourceRequest && (VERBS.includes(info.verb) || SUBRESOURCES.includes(info.subresource)));
