// Sends what was recorded as noteworthy about a request, with successes and refusals alike.
// Source: k8s.io/apiserver/pkg/endpoints/filters/warning.go

import { withHeaders } from "../transport/api-response.ts";
import type { Filter } from "./filter.ts";
import { warningHeaders } from "./warning-recorder.ts";

export const withWarnings = (): Filter => ({
  leave(response, { warnings: { texts } }) {
    return texts.length === 0 ? response : withHeaders(response, { warning: warningHeaders(texts) });
  },
});
