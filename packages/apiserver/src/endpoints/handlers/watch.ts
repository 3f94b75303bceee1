// GET with watch=true: streams events until the client disconnects, the time is up, or events would be lost.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/watch.go

import { isApiError, verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import { groupResourceOf } from "../../registry/resource-definition.ts";
import type { ApiResponse } from "../../transport/api-response.ts";
import { type ConnectionBacklog, createWatchBacklog } from "../../transport/watch-backlog.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput, type OutputFormat, streamOutput, streamTypeOf } from "../negotiation/negotiate-output.ts";
import { readListOptions, watchQueryOf } from "./list-query.ts";
import { watchTimeoutOf } from "./watch-bookmarks.ts";
import { createWatchEncoder } from "./watch-encoder.ts";
import { WatchStream } from "./watch-stream.ts";
import { webSocketResponse, webSocketUpgrade } from "./watch-websocket.ts";

export const handleWatch: VerbHandler = async (context, resource, endpoint) => {
  const { definition, servedStore } = resource;
  if (servedStore.watch === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "watch");
  }
  const accepted = negotiateOutput(context.request, definition);
  const options = readListOptions(context);
  const query = watchQueryOf(options, context);
  const output = streamOutput(accepted);
  const encoder = createWatchEncoder(context, definition, output, {
    clock: endpoint.runtime.clock,
    eventLines: endpoint.eventLines,
  });
  const upgrade = webSocketUpgrade(context.request);
  const backlog = context.request.backlog ?? noLimit();
  const stream = new WatchStream(encoder, query, resource, endpoint, backlog, context);
  try {
    stream.attach(await servedStore.watch(context, query, stream));
  } catch (error) {
    // Errors are sent as events in the stream, where reflectors expect them.
    if (!isApiError(error, "Expired") && !isApiError(error, "Timeout")) throw error;
    stream.error(error);
  }
  const timeoutMs = watchTimeoutOf(options.timeoutSeconds, endpoint.runtime);
  const run: StreamRun = (sink, signal) => stream.run(sink, AbortSignal.any([signal, context.signal]), timeoutMs);
  const { format } = output;
  return upgrade === undefined
    ? watchResponse(run, format)
    : await webSocketResponse(context.request, upgrade, run, format);
};

/** For requests that come by no connection. */
const noLimit = (): ConnectionBacklog =>
  createWatchBacklog({ perWatch: Infinity, perConnection: Infinity, total: Infinity }).connection();

type StreamRun = Extract<ApiResponse["body"], { readonly type: "stream" }>["run"];

const watchResponse = (run: StreamRun, format: OutputFormat): ApiResponse => ({
  status: 200,
  headers: { "cache-control": "no-cache, private", "content-type": streamTypeOf(format) },
  body: { type: "stream", run },
});
