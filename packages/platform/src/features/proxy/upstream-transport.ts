// A transport for the API client over the proxy's connections, with the same addresses, limits and trust.

import type { IncomingMessage } from "node:http";
import { type ApiClient, createApiClient } from "@postern/client/api-client";
import type { Transport } from "@postern/client/transport/transport";
import type { UpstreamConnections } from "./upstream-connections.ts";
import { badGatewayError, credentialRefusedError, unaskedUpgradeError, upstreamError } from "./upstream-failure.ts";

/** Answers to our own requests are read into memory, and are no larger than any object. */
const MAX_ANSWER_BYTES = 8 << 20;

/**
 * A client that acts as the credential of the target itself. It never waits to try again: what the target refuses is dealt with by
 * whoever asked.
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
      const answer = await connections.send({
        method,
        path,
        signal,
        headers: body === undefined ? headers : { ...headers, "content-length": Buffer.byteLength(body) },
        ...(body === undefined ? {} : { writeBody: (request) => void request.end(body) }),
      });
      if (answer.type === "upgraded") {
        answer.socket.destroy();
        throw unaskedUpgradeError();
      }
      const { response } = answer;
      if (response.statusCode === 401) {
        response.destroy();
        throw credentialRefusedError();
      }
      return {
        status: response.statusCode ?? 0,
        header: (name) => (name === RETRY_AFTER ? undefined : headerText(response, name)),
        body: readBounded(response),
      };
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Kept from the client, which would wait as long as the target tells it to. */
const RETRY_AFTER = "retry-after";

function headerText({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

async function* readBounded(response: IncomingMessage): AsyncIterable<Uint8Array> {
  let size = 0;
  try {
    for await (const chunk of response) {
      // The stream has no encoding set: its chunks are Buffers.
      const bytes = chunk as Buffer;
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
