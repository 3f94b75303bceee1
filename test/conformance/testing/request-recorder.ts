// Writes down what a client asks of the conformance server, as it came over the wire.

import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import { headerOf } from "@postern/apiserver/transport/api-request";

export type RecordedRequest = {
  readonly method: string;
  /** Path and query, without what differs from one run to the next: hashes, versions, uids and times. */
  readonly uri: string;
  header(name: string): string;
  /** Empty until the server has read it. */
  readonly body: string;
};

export type RequestRecorder = {
  readonly observe: (request: ApiRequest) => ApiRequest;
  /** Requests that have come since the last time, in order. */
  take(): readonly RecordedRequest[];
};

const PASSING: readonly (readonly [RegExp, string])[] = [
  [/\bhash=[0-9A-F]{64,}/, "hash=H"],
  [/\bresourceVersion=[1-9]\d*/, "resourceVersion=N"],
  [/\btimeoutSeconds=\d+/, "timeoutSeconds=N"],
  [/\buid%3D[0-9a-f-]{36}/, "uid%3DU"],
];

export function createRequestRecorder(): RequestRecorder {
  let recorded: RecordedRequest[] = [];
  return {
    observe(request) {
      let body = "";
      const uri = PASSING.reduce((text, [pattern, name]) => text.replace(pattern, name), request.requestUri);
      recorded.push({
        method: request.method,
        uri,
        header: (name) => headerOf(request, name),
        get body() {
          return body;
        },
      });
      return request.with({
        async body(limitBytes) {
          const bytes = await request.body(limitBytes);
          body = Buffer.from(bytes).toString();
          return bytes;
        },
      });
    },
    take() {
      const taken = recorded;
      recorded = [];
      return taken;
    },
  };
}
