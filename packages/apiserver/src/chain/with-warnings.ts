// Sends what was recorded as noteworthy about a request, with successes and refusals alike.
// Source: k8s.io/apiserver/pkg/endpoints/filters/warning.go

import { withHeaders } from "../transport/api-response.ts";
import type { Handler } from "./handler.ts";
import { warningHeaders } from "./warning-recorder.ts";

export function withWarnings(next: Handler): Handler {
  return async (context) => {
    const response = await next(context);
    const { texts } = context.warnings;
    return texts.length === 0 ? response : withHeaders(response, { warning: warningHeaders(texts) });
  };
}
