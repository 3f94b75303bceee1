// Answers requests whose handler failed in a way that nobody foresaw. The client learns nothing of it but that.
// Source: k8s.io/apiserver/pkg/server/filters/wrap.go

import type { Logger } from "../logging/logger.ts";
import { textResponse } from "../transport/api-response.ts";
import type { Handler } from "./handler.ts";
import { refusal } from "./with-errors.ts";

const TEXT = "This request caused apiserver to panic. Look in the logs for details.\n";

export function withPanicRecovery(next: Handler, { logger }: { readonly logger: Logger }): Handler {
  return async (context) => {
    try {
      return await next(context);
    } catch (thrown) {
      try {
        return refusal(thrown, context);
      } catch (error) {
        const { audit, request, info } = context;
        audit.setPanicked?.();
        const uri = request.requestUri;
        logger.error(
          { error, auditId: audit.auditId, method: request.method, uri, verb: info.verb },
          "request panicked",
        );
        return textResponse(500, TEXT);
      }
    }
  };
}
