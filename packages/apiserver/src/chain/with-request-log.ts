// Logs one line per request: writes at info level, reads at debug level, responses with 5xx as warnings.

import type { Logger } from "../logging/logger.ts";
import type { Clock } from "../runtime/clock.ts";
import { headerOf } from "../transport/api-request.ts";
import { afterResponse } from "../transport/api-response.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";

const READ_VERBS: readonly string[] = ["get", "list", "watch", "head", "options"];

export const withRequestLog = ({ logger, clock }: { readonly logger: Logger; readonly clock: Clock }): Filter => ({
  leave(response, call) {
    const level = levelOf(call, response.status);
    if (!logger.isLevelEnabled(level)) return response;
    return afterResponse(response, () => {
      const durationMs = clock.elapsed() - call.startedAt;
      logger[level]({ ...fieldsOf(call, response.status), durationMs }, "request");
    });
  },
});

function levelOf({ info }: RequestState, status: number): "debug" | "info" | "warn" {
  if (status >= 500) return "warn";
  return READ_VERBS.includes(info.verb) ? "debug" : "info";
}

/** The user is in the audit log, under the same identifier. */
const fieldsOf = ({ request, info, audit }: RequestState, status: number) => ({
  auditId: audit.auditId,
  method: request.method,
  uri: request.requestUri,
  verb: info.verb,
  status,
  sourceIp: request.remoteAddress,
  userAgent: headerOf(request, "user-agent"),
});
