// The request context of the server's own work: controllers, first start, and side effects of requests.

import { Readable } from "node:stream";
import { GROUP_AUTHENTICATED, GROUP_MASTERS, type UserInfo } from "../authentication/user-info.ts";
import type { WorkParts } from "../limits/long-work.ts";
import { nonResourceInfo, type RequestInfo } from "../request/request-info.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ApiRequest, requestOf } from "../transport/api-request.ts";
import { RequestContext } from "./request-context.ts";

/** The server's identity when it acts for itself. It never comes in from outside: no credential gives this name. */
export const systemUser: UserInfo = { name: "system:apiserver", groups: [GROUP_MASTERS, GROUP_AUTHENTICATED] };

export type SystemCall = Partial<
  Pick<RequestInfo, "verb" | "apiGroup" | "apiVersion" | "resource" | "subresource" | "namespace" | "name">
>;

/**
 * A context under which the registry may be called directly. Nothing of it is logged or audited. Policies and webhooks of tenants are not asked about
 * what the server does for itself; they are asked where it does so as another `user`.
 */
export function createSystemContext(
  call: SystemCall,
  {
    clock,
    signal,
    user = systemUser,
    work,
  }: { readonly clock: Clock; readonly signal: AbortSignal; readonly user?: UserInfo; readonly work?: WorkParts },
): RequestContext {
  return new RequestContext({
    request: systemRequest(signal),
    info: { ...NO_REQUEST, ...call, isResourceRequest: true },
    user,
    warnings: { texts: [], add: () => {} },
    audit: SILENT_AUDIT,
    receivedAt: clock.now(),
    work,
  });
}

const NO_REQUEST = nonResourceInfo("", "");

const SILENT_AUDIT: RequestContext["audit"] = {
  auditId: "",
  annotate: () => {},
  setUser: () => {},
  setImpersonatedUser: () => {},
  setObjectRef: () => {},
  setRequestObject: () => {},
};

const systemRequest = (signal: AbortSignal): ApiRequest =>
  requestOf({
    method: "",
    path: "",
    basePath: "",
    query: new URLSearchParams(),
    requestUri: "",
    headers: {},
    httpVersion: "1.1",
    remoteAddress: "",
    host: "",
    peerCertificate: () => undefined,
    body: () => Promise.resolve(new Uint8Array()),
    bodyStream: () => Readable.from([]),
    signal,
  });
