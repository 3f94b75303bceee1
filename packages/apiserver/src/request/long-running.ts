// Tells requests that may last, which have no deadline and no place in the flow control.
// Source: k8s.io/apiserver/pkg/server/filters/longrunning.go

import type { ApiRequest } from "../transport/api-request.ts";
import type { RequestInfo } from "./request-info.ts";

export type LongRunningCheck = (request: ApiRequest, info: RequestInfo) => boolean;

const VERBS: readonly string[] = ["watch", "proxy"];
const SUBRESOURCES: readonly string[] = ["attach", "exec", "log", "portforward", "proxy"];

/** Watches, upgraded connections, proxies and streams. */
export const isLongRunning: LongRunningCheck = (request, info) =>
  request.upgrade !== undefined ||
  (info.isResourceRequest && (VERBS.includes(info.verb) || SUBRESOURCES.includes(info.subresource)));
