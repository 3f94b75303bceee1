// The client of a request that reads a wrapped value, or reports one.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import { headerOf } from "@postern/apiserver/transport/api-request";
import type { Reading } from "./wrapped-record.ts";

const MAX_USER_AGENT = 200;

export function readingOf({ request, redact, receivedAt }: RequestContext): Reading {
  const userAgent = headerOf(request, "user-agent");
  const safe = redact === undefined ? userAgent : redact(userAgent);
  return { at: receivedAt, address: request.remoteAddress, userAgent: safe.slice(0, MAX_USER_AGENT) };
}
