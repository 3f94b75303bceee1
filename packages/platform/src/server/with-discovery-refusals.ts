// Refusals of discovery behind the proxy, in the form that kubectl shows.
//
// The first thing that kubectl asks of a cluster is /api and /apis as aggregated documents. client-go reads the answers without decoding
// a Status: of a refusal in JSON it prints "unknown", six times, and of one in plain text the text.
// Source: k8s.io/client-go/rest/request.go (transformResponse), discovery/discovery_client.go (downloadLegacy)

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { Handler, RequestContext } from "@postern/apiserver/chain/handler";
import { refusal } from "@postern/apiserver/chain/with-errors";
import { parseAccept } from "@postern/apiserver/endpoints/negotiation/parse-accept";
import { headerOf } from "@postern/apiserver/transport/api-request";
import { textResponse } from "@postern/apiserver/transport/api-response";

export function withDiscoveryRefusals(next: Handler): Handler {
  return async (context) => {
    try {
      return await next(context);
    } catch (error) {
      if (!isApiError(error) || !asksForAggregatedDiscovery(context)) throw error;
      const { status, headers } = refusal(error, context);
      const retryAfter = headers["retry-after"];
      return textResponse(status, `${error.message}\n`, retryAfter === undefined ? {} : { "retry-after": retryAfter });
    }
  };
}

/** Nobody else asks with this parameter, so everybody else gets the Status. */
const asksForAggregatedDiscovery = ({ request }: RequestContext): boolean =>
  request.method === "GET" &&
  parseAccept(headerOf(request, "accept")).some(({ parameters }) => parameters.get("as") === "APIGroupDiscoveryList");
