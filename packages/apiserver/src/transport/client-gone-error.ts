// The reason for aborting a request whose client has disconnected.

import { ApiError } from "@postern/apimachinery/meta/api-error";

/** Not a code of HTTP: it is only ever seen in logs, metrics and audit events. */
export const CLIENT_GONE = 499;

/** One for all: a client that closes a connection with hundreds of requests costs no stack trace for each. */
const GONE = new ApiError({
  code: CLIENT_GONE,
  message: "the client closed the connection before the response was complete",
});

export const clientGoneError = (): ApiError => GONE;
