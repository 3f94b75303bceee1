// Responds 500 to requests whose handler failed unexpectedly. The client learns nothing more.
// Source: k8s.io/apiserver/pkg/server/filters/wrap.go

import type { Logger } from "../logging/logger.ts";
import { textResponse } from "../transport/api-response.ts";
import type { Filter } from "./run-filters.ts";
import { type ErrorDeps, refusal } from "./with-errors.ts";

const TEXT = "This request caused apiserver to panic. Look in the logs for details.\n";

export const withPanicRecovery = ({ logger, ...deps }: ErrorDeps & { readonly logger: Logger }): Filter => ({
  fail(thrown, call) {
    try {
      return refusal(thrown, call, deps);
    } catch (error) {
      const { audit, request, info } = call;
      audit.setPanicked?.();
      const uri = request.requestUri;
      logger.error({ error, auditId: audit.auditId, method: request.method, uri, verb: info.verb }, "request panicked");
      return textResponse(500, TEXT);
    }
  },
});
