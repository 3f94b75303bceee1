// The port that follows what all requests of a server come to, for figures that are more than metrics.

import type { RequestState } from "./request-state.ts";

/** A request and its user, after all filters have seen it. */
export type ObservedRequest = Pick<
  RequestState,
  "info" | "innerRequest" | "request" | "recorder" | "user" | "credential" | "refusedCredentialId" | "isLongRunning"
>;

export type RequestObserver = {
  /** The response to `call` is known. Called once for each request, before its body is sent; must not throw. */
  answered(call: ObservedRequest, status: number): void;
  /** The last byte of the response was sent, or the client is gone. Called for long-running requests alone. */
  closed(call: ObservedRequest, status: number): void;
};
