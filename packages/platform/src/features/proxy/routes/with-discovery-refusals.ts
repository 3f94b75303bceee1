// Refusals of discovery behind the proxy, in the form that kubectl shows.
//
// The first thing that kubectl asks of a cluster is /api and /apis as aggregated documents. client-go reads the answers without decoding
// a Status: of a refusal in JSON it prints "unknown", six times, and of one in plain text the text. Of a 503 it prints words of its own
// in any case, and of a 502 ours.
// Source: k8s.io/client-go/rest/request.go (transformResponse), discovery/discovery_client.go (downloadLegacy)

import { ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { Filter } from "@postern/apiserver/chain/run-filters";
import { refusal } from "@postern/apiserver/chain/with-errors";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { parseAccept } from "@postern/apiserver/endpoints/negotiation/parse-accept";
import { headerOf } from "@postern/apiserver/transport/api-request";
import { textResponse } from "@postern/apiserver/transport/api-response";

export const withDiscoveryRefusals: Filter = {
  fail(error, call) {
    if (!isApiError(error) || !asksForAggregatedDiscovery(call)) throw error;
    // A passing error is waited for in silence, as clients do elsewhere.
    if (error.details?.retryAfterSeconds !== undefined) throw error;
    const { message, details = {} } = error;
    const told = error.code === 503 ? new ApiError({ code: 502, message, details, cause: error }) : error;
    return textResponse(refusal(told, call).status, message);
  },
};

/** Only kubectl sends this parameter; other clients get the Status. */
const asksForAggregatedDiscovery = ({ request }: RequestContext): boolean =>
  request.method === "GET" &&
  parseAccept(headerOf(request, "accept")).some(({ parameters }) => parameters.get("as") === "APIGroupDiscoveryList");
