// Requests to identity providers: over TLS, only to allowed addresses, without following redirects. It has the interface of fetch, so that
// openid-client uses it for all requests.

import type { CustomFetch } from "openid-client";
import type { Foundation } from "../../../foundation/foundation.ts";
import { issuerAddresses } from "../../../foundation/issuers/fetch-issuer-keys.ts";
import {
  discoveryUrlOf,
  httpsUrl,
  ISSUER_LIMITS,
  type IssuerPlace,
  textOf,
} from "../../../foundation/issuers/fetch-key-set.ts";
import { FetchError } from "../../../foundation/issuers/issuer-keys.ts";
import { tenantAddressRules } from "../../../foundation/upstream/tenant-addresses.ts";
import { createUpstreamConnections } from "../../../foundation/upstream/upstream-connections.ts";
import type { UpstreamResponse } from "../../../foundation/upstream/upstream-response.ts";

/** Room for an ID token and an access token with many groups, and the JSON around them. */
const MAX_RESPONSE_BYTES = 512 * 1024;

export type ProviderFetch = (place: IssuerPlace) => CustomFetch;

/** Only administrators configure providers. */
export function fetchFromProviders({ configuration, names, runtime, signal }: Foundation): ProviderFetch {
  const { scheduler } = runtime;
  const addresses = issuerAddresses(configuration);
  /** For servers in the documents of a provider. */
  const otherAddresses = tenantAddressRules(configuration);
  return (place) => {
    const { origin: own } = discoveryUrlOf(place);
    return async (address, { method, headers, body }) => {
      const { origin, pathname, search } = httpsUrl(address, "an endpoint of the provider");
      const content = bodyOf(body);
      using connections = createUpstreamConnections(
        {
          server: origin,
          credential: {},
          ...(place.certificateAuthorityPem === undefined
            ? {}
            : { certificateAuthorityPem: place.certificateAuthorityPem }),
        },
        { scheduler, addresses: origin === own ? addresses : otherAddresses, limits: ISSUER_LIMITS },
      );
      const response = await connections.send({
        method,
        path: `${pathname}${search}`,
        headers: { ...headers, "user-agent": names.name },
        signal,
        ...(content === undefined ? {} : { body: content }),
      });
      const { statusCode: status } = response;
      if (status < 200 || status > 599) {
        response.destroy();
        throw new FetchError(`a response of the provider has the status ${status}, which is none of HTTP`);
      }
      const text = await textOf(response, "a response of the provider", MAX_RESPONSE_BYTES);
      // Responses with these codes must not have a body.
      const isEmpty = status === 204 || status === 205 || status === 304;
      return new Response(isEmpty ? null : text, { status, headers: headersOf(response) });
    };
  };
}

function bodyOf(body: unknown): string | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === "string" || body instanceof URLSearchParams) return String(body);
  throw new TypeError("a request to an identity provider has a form for its body");
}

function headersOf({ headers }: UpstreamResponse): Headers {
  const copied = new Headers();
  for (const name of ["content-type", "www-authenticate", "date"]) {
    const value = headers[name];
    if (typeof value === "string") copied.set(name, value);
  }
  return copied;
}
