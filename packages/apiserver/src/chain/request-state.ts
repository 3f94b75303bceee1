// The state of one request in the handler chain. Filters write their results into it; handlers read them.

import type { AuditContext, AuditRecorder } from "../audit/audit-recorder.ts";
import type { Credential } from "../authentication/authenticator.ts";
import { anonymousUser, type UserInfo } from "../authentication/user-info.ts";
import type { LongRunningRequest } from "../authorization/long-running-requests.ts";
import { RequestContext, type WarningRecorder } from "../context/request-context.ts";
import { type LongWork, WorkParts } from "../limits/long-work.ts";
import type { Redact } from "../request/credentials.ts";
import type { RequestInfo, ResolvedRequest } from "../request/request-info.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { ApiResponse } from "../transport/api-response.ts";

export type ServedInfo = Pick<RequestInfo, "apiGroup" | "apiVersion" | "resource" | "subresource">;

export type Arrival = {
  readonly request: ApiRequest;
  readonly resolved: ResolvedRequest;
  readonly redact: Redact;
  readonly warnings: WarningRecorder;
  /** Whether a resource exists where it goes. Metrics and logs name no others. */
  readonly isServed: (info: ServedInfo) => boolean;
  readonly longWork: LongWork;
  /** Under which it is logged and recorded. */
  readonly auditId: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The same by the monotonic clock. */
  readonly startedAt: number;
};

export class RequestState extends RequestContext {
  declare request: ApiRequest;
  declare user: UserInfo;
  declare caller: UserInfo;
  declare credential: Credential | undefined;
  declare open: (LongRunningRequest & Disposable) | undefined;
  declare audit: AuditContext;
  readonly startedAt: number;
  readonly isServed: (info: ServedInfo) => boolean;
  /** Set where the request is recorded. */
  recorder: AuditRecorder | undefined = undefined;
  /** Places that it holds while it is worked on. */
  place: Disposable | undefined = undefined;
  body: Disposable | undefined = undefined;

  constructor({ request, resolved, redact, warnings, isServed, longWork, auditId, receivedAt, startedAt }: Arrival) {
    super({
      request,
      info: resolved.info,
      user: anonymousUser,
      redact,
      isLongRunning: resolved.isLongRunning,
      innerRequest: resolved.innerRequest,
      work: new WorkParts(longWork),
      warnings,
      audit: new Unrecorded(auditId),
      receivedAt,
    });
    this.startedAt = startedAt;
    this.isServed = isServed;
  }
}

/** Until the filter that records requests has put a recorder there. */
class Unrecorded implements AuditContext {
  readonly auditId: string;

  constructor(auditId: string) {
    this.auditId = auditId;
  }

  annotate(): void {}
  setUser(): void {}
  setImpersonatedUser(): void {}
  setObjectRef(): void {}
  setRequestObject(): void {}
}

// The loop that takes a request through the filters to its handler, and the answer back through them in the opposite order. Nothing of it is
// a promise where nothing waits: a read from memory is answered in the turn of the event loop in which it came.

export type CallHandler = (call: RequestState) => Awaitable<ApiResponse>;

/** Each member is optional. An error thrown in any of them is passed to `fail` of the earlier filters. */
export type Filter = {
  /** On the way in. A response answers the request here: nothing further on sees it, and this filter does not see it again. */
  readonly enter?: (call: RequestState) => Awaitable<ApiResponse | undefined>;
  /** On the way out: returns the response for earlier filters. Not called if `enter` has thrown. */
  readonly leave?: (response: ApiResponse, call: RequestState) => Awaitable<ApiResponse>;
  /** The same for an error from further on: gives a response in its place, or throws. */
  readonly fail?: (error: unknown, call: RequestState) => Awaitable<ApiResponse>;
  /** In place of the three, for what has to hold the rest of the way in its hands. */
  readonly around?: (call: RequestState, next: CallHandler) => Awaitable<ApiResponse>;
};

/** The filters in the order of the request, and what is behind them. */
export function through(filters: readonly Filter[], last: CallHandler): CallHandler {
  const at = filters.findIndex(({ around }) => around !== undefined);
  const around = filters[at]?.around;
  if (around === undefined) return loop(filters, last);
  const next = through(filters.slice(at + 1), last);
  return loop(filters.slice(0, at), (call) => around(call, next));
}

function loop(filters: readonly Filter[], last: CallHandler): CallHandler {
  const enter = (call: RequestState, from: number): Awaitable<ApiResponse> => {
    let at = from;
    let response: Awaitable<ApiResponse | undefined>;
    try {
      for (; at < filters.length; at++) {
        response = filters[at]?.enter?.(call);
        if (response !== undefined) break;
      }
      response ??= last(call);
    } catch (error) {
      return fail(error, call, at - 1);
    }
    if (!(response instanceof Promise)) return leave(response, call, at - 1);
    return response.then(
      (found) => (found === undefined ? enter(call, at + 1) : leave(found, call, at - 1)),
      (error) => fail(error, call, at - 1),
    );
  };
  const leave = (given: ApiResponse, call: RequestState, from: number): Awaitable<ApiResponse> => {
    let response: Awaitable<ApiResponse> = given;
    for (let at = from; at >= 0; at--) {
      const filter = filters[at];
      if (filter?.leave === undefined) continue;
      try {
        response = filter.leave(response, call);
      } catch (error) {
        return fail(error, call, at - 1);
      }
      if (response instanceof Promise) {
        return response.then(
          (found) => leave(found, call, at - 1),
          (error) => fail(error, call, at - 1),
        );
      }
    }
    return response;
  };
  const fail = (given: unknown, call: RequestState, from: number): Awaitable<ApiResponse> => {
    let error = given;
    for (let at = from; at >= 0; at--) {
      const filter = filters[at];
      if (filter?.fail === undefined) continue;
      try {
        const response = filter.fail(error, call);
        if (!(response instanceof Promise)) return leave(response, call, at - 1);
        return response.then(
          (found) => leave(found, call, at - 1),
          (again) => fail(again, call, at - 1),
        );
      } catch (again) {
        error = again;
      }
    }
    throw error;
  };
  return (call) => enter(call, 0);
}
