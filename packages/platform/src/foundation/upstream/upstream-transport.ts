// A transport for the API client over upstream connections, with their address rules, limits and trust.

import { type ApiClient, createApiClient } from "@postern/client/api-client";
import type { Transport } from "@postern/client/transport/transport";
import type { UpstreamConnections } from "./upstream-connections.ts";
import { badGatewayError, credentialRefusedError, upstreamError } from "./upstream-failure.ts";
import type { UpstreamResponse } from "./upstream-response.ts";

/** Answers to our own requests are read into memory, and are no larger than any object. */
const MAX_ANSWER_BYTES = 8 << 20;

/**
 * A client that authenticates with the credential of the target. It never retries: its caller handles what the target refuses.
 */
export function createUpstreamClient(connections: UpstreamConnections, userAgent: string): ApiClient {
  const { bearerToken } = connections.target.credential;
  return createApiClient({
    transport: createUpstreamTransport(connections),
    userAgent,
    ...(bearerToken === undefined ? {} : { token: bearerToken }),
  });
}

/** Disposing it leaves the connections alone. */
export function createUpstreamTransport(connections: UpstreamConnections): Transport {
  return {
    async send({ method, path, headers, body, signal = new AbortController().signal }) {
      const response = await connections.send({
        method,
        path,
        signal,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      if (response.statusCode === 401) {
        response.destroy();
        throw credentialRefusedError();
      }
      return {
        status: response.statusCode,
        header: (name) => (name === RETRY_AFTER ? undefined : headerText(response, name)),
        body: readBounded(response),
      };
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Kept from the client, which would wait as long as the target tells it to. */
const RETRY_AFTER = "retry-after";

function headerText({ headers }: UpstreamResponse, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

async function* readBounded(response: UpstreamResponse): AsyncIterable<Uint8Array> {
  let size = 0;
  try {
    for await (const bytes of response) {
      size += bytes.length;
      if (size > MAX_ANSWER_BYTES) {
        throw badGatewayError({ reason: "AnswerTooLarge", message: "its response is too large" });
      }
      yield bytes;
    }
  } catch (error) {
    throw upstreamError(error, true);
  }
}
