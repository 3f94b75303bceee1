// Runs a request through the filters to its handler, and the response back in the opposite order. Nothing is a promise unless something waits: a read
// from memory is answered in the turn of the event loop in which it arrived.

import type { Awaitable } from "../runtime/awaitable.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import { discardResponse } from "../transport/discard-response.ts";
import type { RequestState } from "./request-state.ts";

export type CallHandler = (call: RequestState) => Awaitable<ApiResponse>;

/** Each member is optional. An error thrown in any of them is passed to `fail` of the earlier filters. */
export type Filter = {
  /** Called on the way in. A response answers the request: later filters and the handler do not run, nor does `leave` of this filter. */
  readonly enter?: (call: RequestState) => Awaitable<ApiResponse | undefined>;
  /** Called on the way out: returns the response for earlier filters. Not called if `enter` has thrown. */
  readonly leave?: (response: ApiResponse, call: RequestState) => Awaitable<ApiResponse>;
  /** The same for an error from further on: gives a response in its place, or throws. */
  readonly fail?: (error: unknown, call: RequestState) => Awaitable<ApiResponse>;
  /** Instead of the three, for a filter that must call the rest of the chain itself. */
  readonly around?: (call: RequestState, next: CallHandler) => Awaitable<ApiResponse>;
};

/** The filters in the order of the request, then `last`. */
export function runFilters(filters: readonly Filter[], last: CallHandler): CallHandler {
  const at = filters.findIndex(({ around }) => around !== undefined);
  const around = filters[at]?.around;
  if (around === undefined) return loop(filters, last);
  const next = runFilters(filters.slice(at + 1), last);
  return loop(filters.slice(0, at), (call) => around(call, next));
}

function loop(filters: readonly Filter[], last: CallHandler): CallHandler {
  const entering = filters.map((filter) => filter.enter);
  const leaving = filters.map((filter) => filter.leave);
  const failing = filters.map((filter) => filter.fail);
  const enter = (call: RequestState, from: number): Awaitable<ApiResponse> => {
    let at = from;
    let response: Awaitable<ApiResponse | undefined>;
    try {
      for (; at < entering.length; at++) {
        response = entering[at]?.(call);
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
    let response = given;
    for (let at = from; at >= 0; at--) {
      const left = leaving[at];
      if (left === undefined) continue;
      try {
        const next = left(response, call);
        if (next instanceof Promise) return whenLeft(next, response, call, at - 1);
        response = next;
      } catch (error) {
        return dropped(response, error, call, at - 1);
      }
    }
    return response;
  };
  const whenLeft = (next: Promise<ApiResponse>, before: ApiResponse, call: RequestState, from: number) =>
    next.then(
      (found) => leave(found, call, from),
      (error) => dropped(before, error, call, from),
    );
  /** The creator of the response may hold resources until it is done. */
  const dropped = ({ body }: ApiResponse, error: unknown, call: RequestState, from: number): Awaitable<ApiResponse> => {
    void discardResponse(body);
    return fail(error, call, from);
  };
  const fail = (given: unknown, call: RequestState, from: number): Awaitable<ApiResponse> => {
    let error = given;
    for (let at = from; at >= 0; at--) {
      const answer = failing[at];
      if (answer === undefined) continue;
      try {
        const response = answer(error, call);
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
