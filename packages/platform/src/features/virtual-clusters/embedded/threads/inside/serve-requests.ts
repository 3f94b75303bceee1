// Serves the requests of a cluster thread: responses go back as one message, streams in parts of which the front takes so many at a time.

import { serviceUnavailableError } from "@postern/apimachinery/meta/api-error";
import { LongRunningRequests } from "@postern/apiserver/authorization/long-running-requests";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { createLongWork } from "@postern/apiserver/limits/long-work";
import type { WorkThreads } from "@postern/apiserver/limits/work-threads";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { UpgradeRequest } from "@postern/apiserver/transport/api-request";
import { type ApiResponse, JoinedBody } from "@postern/apiserver/transport/api-response";
import {
  type BacklogLimits,
  type ConnectionBacklog,
  createWatchBacklog,
} from "@postern/apiserver/transport/watch-backlog";
import type { FrontCalls, FrontNotes, ThreadCalls, ThreadNotes } from "../messages/cluster-methods.ts";
import { type CallHandlers, type Link, type NoteHandlers, Transferred, type WorkMark } from "../messages/link.ts";
import type { RequestMessage } from "../messages/request-messages.ts";
import { type PackedResponse, packResponse, unpackRequest } from "../messages/request-wire.ts";
import { copyOf, wholeBuffer } from "../messages/wire-bytes.ts";
import { decodeError, encodeError } from "../messages/wire-errors.ts";
import { MarkedWork } from "./marked-work.ts";
import { createRemoteContext, type RemoteContext } from "./remote-request.ts";
import { RemoteSink, WINDOW } from "./remote-sink.ts";
import { RemoteSocket } from "./remote-socket.ts";
import { ServedRequest } from "./served-request.ts";

export type RequestServer = Disposable & {
  readonly calls: Pick<CallHandlers<ThreadCalls>, "request">;
  readonly notes: Pick<NoteHandlers<ThreadNotes>, "run" | "taken" | "halt" | "socketData" | "socketClosed">;
  /** Requests that are not over, with their streams. */
  readonly open: number;
  /** The number of connections of open requests. */
  readonly connections: number;
};

export type RequestServerDeps = {
  readonly runtime: Runtime;
  readonly front: () => Link<FrontCalls, FrontNotes>;
  readonly mark: WorkMark;
  readonly workThreads: WorkThreads;
  readonly backlog: BacklogLimits;
  /** Enters the work for the cluster; undefined for one that does not run here. */
  readonly handlerOf: (uid: string) => ClusterHandler | undefined;
};

export type ClusterHandler = {
  /** Long work of all clients of the project is one lane. */
  readonly lane: string;
  handle(context: RequestContext): Promise<ApiResponse>;
};

type Connection = { readonly backlog: ConnectionBacklog; requests: number };

export function createRequestServer(deps: RequestServerDeps): RequestServer {
  const { runtime, front, mark, handlerOf } = deps;
  const served = new Map<number, ServedRequest>();
  const openRequests = new LongRunningRequests(runtime);
  const longWork = createLongWork(runtime.clock, deps.workThreads, () => front().note("overBudget", undefined));
  const backlog = createWatchBacklog(deps.backlog);
  const connections = new Map<number, Connection>();
  const windows = { bytes: 0 };
  let lastId = 0;
  const nextId = (): number => ++lastId;

  function connectionOf(id: number): Connection {
    const known = connections.get(id) ?? { backlog: backlog.connection(), requests: 0 };
    connections.set(id, known);
    return known;
  }

  async function serve(message: RequestMessage): Promise<PackedResponse | Transferred<PackedResponse>> {
    const { request, uid, connection: connectionId } = message;
    const handler = handlerOf(uid);
    if (handler === undefined) throw serviceUnavailableError("the virtual cluster has been stopped");
    const connection = connectionOf(connectionId);
    connection.requests++;
    const open = message.has.open ? openRequests.begin((reason) => entry.cancellation.abort(reason)) : undefined;
    const entry = new ServedRequest(() => {
      served.delete(request);
      open?.[Symbol.dispose]();
      if (--connection.requests === 0) connections.delete(connectionId);
    });
    served.set(request, entry);
    try {
      const work = new MarkedWork(longWork, mark);
      work.enter(handler.lane);
      const upgrade = message.upgrade === undefined ? undefined : upgradeOf(message.upgrade, request, entry);
      const { cancellation } = entry;
      const remote = createRemoteContext(message, {
        front: front(),
        backlog: connection.backlog,
        upgrade,
        work,
        open,
        cancellation,
        nextId,
      });
      return respond(await answer(remote, handler), remote, entry, request);
    } catch (error) {
      entry.socket?.destroy();
      entry.over();
      throw error;
    }

    async function answer(remote: RemoteContext, { handle }: ClusterHandler): Promise<ApiResponse> {
      try {
        return await handle(remote.context);
      } catch (error) {
        const noted = { audit: remote.takeAudit(), warnings: remote.context.warnings.texts };
        if (noted.audit.length > 0 || noted.warnings.length > 0) front().note("noted", { request, ...noted });
        throw error;
      }
    }
  }

  function upgradeOf(protocol: string, request: number, entry: ServedRequest): UpgradeRequest {
    return {
      protocol,
      accept() {
        const socket = new RemoteSocket(request, front());
        entry.socket = socket;
        front().note("accept", { request });
        return { socket, head: new Uint8Array(0) };
      },
    };
  }

  function respond(
    { status, headers, body }: ApiResponse,
    { context, takeAudit }: RemoteContext,
    entry: ServedRequest,
    request: number,
  ): PackedResponse | Transferred<PackedResponse> {
    const head = { status, headers, audit: takeAudit(), warnings: context.warnings.texts, isUpgraded: false };
    const end = (error: unknown): void =>
      front().note("end", { request, error: error === undefined ? undefined : encodeError(error) });
    if (body.type === "bytes") {
      entry.over();
      if (body instanceof JoinedBody) {
        const bytes = body.copy();
        return new Transferred(packResponse({ ...head, bytes }), [bytes.buffer]);
      }
      if (typeof body.bytes === "string") return packResponse({ ...head, bytes: body.bytes });
      if (body.bytes.length < WINDOW) return packResponse({ ...head, bytes: wholeBuffer(body.bytes) });
      const bytes = copyOf(body.bytes);
      return new Transferred(packResponse({ ...head, bytes }), [bytes.buffer]);
    }
    if (body.type === "upgraded") {
      const ended = (error: unknown): void => {
        entry.over();
        end(error);
      };
      body.done.then(() => ended(undefined), ended);
      return packResponse({ ...head, isUpgraded: true, bytes: undefined });
    }
    entry.hold(body, new RemoteSink(request, front(), windows), end);
    return packResponse({ ...head, bytes: undefined });
  }

  return {
    calls: { request: (message) => serve(unpackRequest(message)) },
    notes: {
      run: ({ request }) => served.get(request)?.run(),
      taken: ({ request, bytes }) => served.get(request)?.taken(bytes),
      halt: ({ request, reason }) => served.get(request)?.halt(decodeError(reason)),
      socketData: ({ request, bytes }) => served.get(request)?.socket?.received(bytes),
      socketClosed: ({ request }) => served.get(request)?.socket?.clientClosed(),
    },
    get open() {
      return served.size;
    },
    get connections() {
      return connections.size;
    },
    [Symbol.dispose]() {
      openRequests[Symbol.dispose]();
      for (const { cancellation } of served.values())
        cancellation.abort(serviceUnavailableError("the virtual cluster has been stopped"));
    },
  };
}
