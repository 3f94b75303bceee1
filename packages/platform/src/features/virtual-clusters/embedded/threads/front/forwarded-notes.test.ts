// Warnings and audit annotations of a request that a cluster thread serves reach the client and the log, whatever the answer is.

import { MessageChannel } from "node:worker_threads";
import { badRequestError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import { type ApiResponse, jsonResponse } from "@postern/apiserver/transport/api-response";
import { expect, it } from "vitest";
import { createRequestServer } from "../inside/serve-requests.ts";
import type { FrontCalls, FrontNotes, ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import { createLink, type Link } from "../messages/link.ts";
import { createRequestForwarder } from "./forward-requests.ts";

const WARNING = 'unknown field "spec.bogus"';

it.each([
  ["succeeds", (): ApiResponse => jsonResponse(200, "{}")],
  [
    "is refused",
    (): ApiResponse => {
      throw badRequestError("metadata.resourceVersion: must be specified");
    },
  ],
])("a request that %s keeps its warnings and annotations", async (_, answer) => {
  const { port1, port2 } = new MessageChannel();
  const onError = (error: unknown): never => {
    throw error;
  };
  const forwarder = createRequestForwarder(() => front);
  const front: Link<ThreadCalls, ThreadNotes> = createLink<FrontCalls, FrontNotes, ThreadCalls, ThreadNotes>({
    port: port1,
    // A request calls nothing else.
    calls: forwarder.calls as never,
    notes: forwarder.notes as never,
    onError,
  });
  const handle = async (context: RequestContext): Promise<ApiResponse> => {
    context.warnings.add(WARNING);
    context.audit.annotate("step", "validation");
    return answer();
  };
  const server = createRequestServer({
    runtime: systemRuntime,
    front: () => thread,
    mark: { save: () => 0, restore: () => undefined },
    workThreads: undefined as never,
    backlog: { perWatch: 1e6, perConnection: 1e6, total: 1e6 },
    handlerOf: () => ({ lane: "a", handle }),
  });
  const thread: Link<FrontCalls, FrontNotes> = createLink<ThreadCalls, ThreadNotes, FrontCalls, FrontNotes>({
    port: port2,
    calls: server.calls as never,
    notes: server.notes as never,
    onError,
  });
  const annotations: string[][] = [];
  const context = createTestContext({ url: "/api/v1/pods", method: "POST", body: { a: 1 } });
  const { audit } = context;
  const watched = context.with({ audit: { ...audit, annotate: (...given) => void annotations.push(given) } });
  await forwarder.forward("cluster", watched, { name: "alice", groups: [] }).catch(() => undefined);
  expect(watched.warnings.texts).toEqual([WARNING]);
  expect(annotations).toEqual([["step", "validation"]]);
  port1.close();
  port2.close();
});
