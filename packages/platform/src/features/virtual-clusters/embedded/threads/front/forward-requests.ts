// Passes requests on to a cluster thread: the front keeps what it has decided, and serves what the thread asks for the request.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import type { FrontCalls, FrontNotes } from "../messages/cluster-methods.ts";
import type { CallHandlers, NoteHandlers } from "../messages/link.ts";
import type { CredentialMessage, RequestMessage } from "../messages/request-messages.ts";
import { packRequest } from "../messages/request-wire.ts";
import { copyOf, wholeBuffer } from "../messages/wire-bytes.ts";
import { decodeError } from "../messages/wire-errors.ts";
import { ForwardedRequest, type Thread } from "./forwarded-request.ts";

export type RequestForwarder = {
  forward(uid: string, context: RequestContext, user: UserInfo): Promise<ApiResponse>;
  readonly calls: Pick<CallHandlers<FrontCalls>, "body" | "authorize" | "narrowRules" | "takeTurn" | "outside">;
  readonly notes: Pick<
    NoteHandlers<FrontNotes>,
    "chunk" | "end" | "accept" | "closeSocket" | "noted" | "endTurn" | "inside"
  >;
  /** The thread has ended: watches end as if their time was up, and other streams are cut. */
  ended(): void;
  /** Requests that are not over, with their streams. */
  readonly open: number;
};

/** Numbers of connections, shared by all threads. */
const connections = new WeakMap<object, number>();
let lastConnection = 0;

export function createRequestForwarder(thread: () => Thread): RequestForwarder {
  const forwarded = new Map<number, ForwardedRequest>();
  const forget = (id: number): void => void forwarded.delete(id);
  let lastRequest = 0;
  let lastTurn = 0;

  /** Throws for a request that has ended meanwhile. */
  function entryOf(request: number): ForwardedRequest {
    const found = forwarded.get(request);
    if (found === undefined) throw new Error("the request has ended");
    return found;
  }

  return {
    forward(uid, context, user) {
      const id = ++lastRequest;
      const message = packRequest(messageOf(uid, id, context, user));
      const entry = new ForwardedRequest(id, context, thread(), forget);
      forwarded.set(id, entry);
      return entry.send(message);
    },
    calls: {
      async body({ request, limitBytes }) {
        return copyOf(await entryOf(request).context.request.body(limitBytes));
      },
      async authorize({ request, attributes }) {
        const { outerAuthorizer, credential } = entryOf(request).context;
        const decision = await outerAuthorizer?.authorize({ ...attributes, credential });
        if (decision === undefined) return { verdict: "no-opinion", reason: "" };
        // An authorizer may say more, which is not needed there.
        return { verdict: decision.verdict, reason: decision.reason };
      },
      async narrowRules({ request, rules, namespace }) {
        const { context } = entryOf(request);
        return (await context.outerAuthorizer?.narrowRules(rules, namespace, context)) ?? rules;
      },
      takeTurn: ({ request }) => entryOf(request).takeTurn(++lastTurn),
      outside: ({ request, id }) => entryOf(request).outside(id),
    },
    notes: {
      chunk: ({ request, bytes }) => forwarded.get(request)?.chunk(bytes),
      end: ({ request, error }) => forwarded.get(request)?.end(error && decodeError(error)),
      accept: ({ request }) => forwarded.get(request)?.accept(),
      closeSocket: ({ request }) => forwarded.get(request)?.closeSocket(),
      noted: ({ request, ...noted }) => forwarded.get(request)?.note(noted),
      endTurn: ({ request, id }) => forwarded.get(request)?.endTurn(id),
      inside: ({ request, id }) => forwarded.get(request)?.inside(id),
    },
    ended() {
      for (const entry of [...forwarded.values()]) entry.threadEnded();
    },
    get open() {
      return forwarded.size;
    },
  };
}

function messageOf(uid: string, request: number, context: RequestContext, user: UserInfo): RequestMessage {
  const { request: outer, info, audit } = context;
  const { method, path, basePath, query, requestUri, httpVersion, remoteAddress, host, upgrade } = outer;
  return {
    uid,
    request,
    method,
    path,
    basePath,
    query: query.size === 0 ? "" : query.toString(),
    requestUri,
    headers: outer.headers,
    httpVersion,
    remoteAddress,
    host,
    connection: connectionOf(outer.connection),
    upgrade: upgrade?.protocol,
    info,
    user,
    caller: context.caller,
    credential: credentialOf(context),
    has: {
      outerAuthorizer: context.outerAuthorizer !== undefined,
      open: context.open !== undefined,
      takeTurn: context.takeTurn !== undefined,
      outside: context.outside !== undefined,
    },
    isLongRunning: context.isLongRunning,
    receivedAt: context.receivedAt,
    auditId: audit.auditId,
    keepsBodies: audit.keepsBodies === true,
    body: outer.wholeBody && wholeBuffer(outer.wholeBody),
  };
}

/** A read makes no credential that goes back to this one. */
function credentialOf({ credential, request: { method } }: RequestContext): CredentialMessage | undefined {
  if (credential === undefined) return undefined;
  const { id, annotations } = credential;
  return { id, annotations, lineage: method === "GET" ? undefined : credential.lineage?.() };
}

function connectionOf(connection: object | undefined): number {
  if (connection === undefined) return ++lastConnection;
  const known = connections.get(connection) ?? ++lastConnection;
  connections.set(connection, known);
  return known;
}
