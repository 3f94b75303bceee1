// A transport for the API client over upstream connections, with their address rules, limits and trust.

import { JsonSyntaxError } from "@postern/apimachinery/json/json-syntax-error";
import { isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { findMetadataError } from "@postern/apimachinery/schema/embedded-objects/find-metadata-error";
import { type ApiClient, createApiClient } from "@postern/client/api-client";
import { isStatus } from "@postern/client/response-error";
import type { Transport } from "@postern/client/transport/transport";
import type { UpstreamConnections } from "./upstream-connections.ts";
import { badGatewayError, credentialRefusedError, upstreamError } from "./upstream-failure.ts";
import type { UpstreamResponse } from "./upstream-response.ts";

/**
 * Answers to our own requests are read into memory and parsed on the event loop, as fast as a target that a tenant runs sends them: 8 MB of empty objects take
 * 0.8 s. Namespaces, bindings, certificate requests and Secrets with a kubeconfig have less.
 */
const MAX_ANSWER_BYTES = 512 << 10;
/** Of a refusal, a Status. */
const MAX_STATUS_BYTES = 64 << 10;

/**
 * A client that authenticates with the credential of the target. It never retries: its caller handles what the target refuses. Rejects with ApiError 502 for what is
 * neither an object of Kubernetes nor a list of them: a target that a tenant runs may answer anything, where callers read fields.
 */
export function createUpstreamClient(connections: UpstreamConnections, userAgent: string): ApiClient {
  const { bearerToken } = connections.target.credential;
  const client = createApiClient({
    transport: createUpstreamTransport(connections),
    userAgent,
    ...(bearerToken === undefined ? {} : { token: bearerToken }),
  });
  return {
    stream: (request) => client.stream(request),
    async request(request) {
      try {
        return asAnswer(await client.request(request));
      } catch (error) {
        throw error instanceof JsonSyntaxError ? strangeAnswerError(error) : error;
      }
    },
  };
}

/** `/version` answers without metadata, and a deletion a Status, or nothing. */
function asAnswer(value: JsonValue | undefined): JsonObject {
  if (isStatus(value)) return { ...value };
  const answer = asObject(value ?? {});
  const items = answer["items"];
  if (items === undefined) return answer;
  if (!Array.isArray(items)) throw strangeAnswerError();
  return { ...answer, items: items.map(asObject) };
}

/** With metadata, and without members that are null. The parts of it that callers read have their types. */
function asObject(value: JsonValue): JsonObject {
  const { metadata = {}, spec = {}, status = {}, ...rest } = membersOf(value);
  const { conditions = [] } = membersOf(status);
  const areObjects = Array.isArray(conditions) && [spec, ...conditions].every(isJsonObject);
  if (!areObjects || findMetadataError(metadata) !== undefined) throw strangeAnswerError();
  return { ...rest, metadata: membersOf(metadata), spec, status };
}

function membersOf(value: JsonValue): JsonObject {
  if (!isJsonObject(value)) throw strangeAnswerError();
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

const strangeAnswerError = (cause?: unknown) =>
  badGatewayError({ reason: "InvalidResponse", message: "its response is not an object of Kubernetes" }, cause);

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
  const most = response.statusCode >= 400 ? MAX_STATUS_BYTES : MAX_ANSWER_BYTES;
  let size = 0;
  try {
    for await (const bytes of response) {
      size += bytes.length;
      if (size > most) {
        throw badGatewayError({ reason: "AnswerTooLarge", message: "its response is too large" });
      }
      yield bytes;
    }
  } catch (error) {
    throw upstreamError(error, true);
  }
}
