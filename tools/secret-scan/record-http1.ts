// Records the traffic of Node's HTTP/1.1 client.

import { subscribe } from "node:diagnostics_channel";
import { ClientRequest, type IncomingMessage } from "node:http";
import { mayBringSecret, recordBody, recordStream } from "./record-stream.ts";
import type { RunRecorder } from "./run-record.ts";

export function recordHttp1(recorder: RunRecorder): void {
  recordBody(recorder, ClientRequest.prototype, (request) => {
    if (!(request instanceof ClientRequest)) return undefined;
    return mayBringSecret(request.path) ? `${request.method} ${request.path}` : undefined;
  });
  subscribe("http.client.response.finish", (message) => {
    // Documented by Node.
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage };
    const place = `${request.method} ${request.path} ${response.statusCode}`;
    recorder.write("answer", `${place} (headers)`, Buffer.from(JSON.stringify(response.rawHeaders)));
    recordStream(recorder, response, {
      place: () => place,
      isGzip: () => response.headers["content-encoding"] === "gzip",
    });
  });
}
