// A request in a cluster thread, made of the message from the front: what it needs from outside goes back there.

import { isJsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import { requestEntityTooLargeError } from "@postern/apimachinery/meta/api-error";
import type { AuditContext } from "@postern/apiserver/audit/audit-context";
import type { OuterAuthorizer } from "@postern/apiserver/authorization/authorizer";
import type { LongRunningRequest } from "@postern/apiserver/authorization/long-running-requests";
import { RequestContext, type WarningRecorder } from "@postern/apiserver/context/request-context";
import type { WorkParts } from "@postern/apiserver/limits/long-work";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import { ApiRequest, type RequestHeaders, type UpgradeRequest } from "@postern/apiserver/transport/api-request";
import type { Cancellation } from "@postern/apiserver/transport/cancellation";
import type { ConnectionBacklog } from "@postern/apiserver/transport/watch-backlog";
import type { FrontCalls, FrontNotes } from "../messages/cluster-methods.ts";
import type { Link } from "../messages/link.ts";
import type { AuditCall, CredentialMessage, RequestMessage } from "../messages/request-messages.ts";

type Front = Link<FrontCalls, FrontNotes>;

export type RemoteRequestDeps = {
  readonly front: Front;
  readonly backlog: ConnectionBacklog;
  readonly upgrade: UpgradeRequest | undefined;
  readonly work: WorkParts;
  readonly open: LongRunningRequest | undefined;
  readonly cancellation: Cancellation;
  readonly nextId: () => number;
};

const NEVER = new AbortController().signal;
/** The query of a request is never changed. */
const NO_QUERY = new URLSearchParams();

class RemoteRequest extends ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly basePath: string;
  readonly query: URLSearchParams;
  readonly requestUri: string;
  readonly headers: RequestHeaders;
  readonly httpVersion: "1.1" | "2.0";
  readonly remoteAddress: string;
  readonly host: string;
  readonly connection: object;
  readonly backlog: ConnectionBacklog;
  readonly upgrade: UpgradeRequest | undefined;
  /** Copies share what follows with this one, and cannot have private members. */
  readonly front: Front;
  readonly cancellation: Cancellation;
  readonly id: number;
  declare readonly wholeBody?: Uint8Array;

  constructor(message: RequestMessage, { front, backlog, upgrade, cancellation }: RemoteRequestDeps) {
    super();
    this.method = message.method;
    this.path = message.path;
    this.basePath = message.basePath;
    this.query = message.query === "" ? NO_QUERY : new URLSearchParams(message.query);
    this.requestUri = message.requestUri;
    this.headers = message.headers;
    this.httpVersion = message.httpVersion;
    this.remoteAddress = message.remoteAddress;
    this.host = message.host;
    this.connection = backlog;
    this.backlog = backlog;
    this.upgrade = upgrade;
    this.front = front;
    this.cancellation = cancellation;
    this.id = message.request;
    if (message.body !== undefined) this.wholeBody = message.body;
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  abort(reason: unknown): void {
    this.cancellation.abort(reason);
  }

  onAbort(listener: (reason: unknown) => void): Disposable {
    return this.cancellation.onAbort(listener);
  }

  /** The front knows the connection, and stops it. */
  know(): void {}

  /** Aborted never: the front ends what lasts when the server stops. */
  get serverStopping(): AbortSignal {
    return NEVER;
  }

  /** The front has authenticated the request. */
  peerCertificate(): undefined {
    return undefined;
  }

  body(limitBytes: number, onBytes?: (count: number) => void): Awaitable<Uint8Array> {
    const { wholeBody } = this;
    if (wholeBody === undefined) return this.askForBody(limitBytes, onBytes);
    if (wholeBody.length > limitBytes) throw requestEntityTooLargeError(`limit is ${limitBytes}`);
    onBytes?.(wholeBody.length);
    return wholeBody;
  }

  async askForBody(limitBytes: number, onBytes: ((count: number) => void) | undefined): Promise<Uint8Array> {
    const bytes = await this.front.call("body", { request: this.id, limitBytes }, { signal: this.signal });
    onBytes?.(bytes.length);
    return bytes;
  }

  bodyStream(): never {
    throw new Error("an embedded cluster reads bodies as a whole");
  }
}

export type RemoteContext = {
  readonly context: RequestContext;
  /** The audit calls since the last time. */
  takeAudit(): readonly AuditCall[];
};

export function createRemoteContext(message: RequestMessage, deps: RemoteRequestDeps): RemoteContext {
  const { front, work, open, nextId } = deps;
  const { request, has, receivedAt, isLongRunning, info, user, caller } = message;
  const audit = createRemoteAudit(message, (calls) => front.note("noted", { request, audit: calls, warnings: [] }));
  const context = new RequestContext({
    request: new RemoteRequest(message, deps),
    info,
    user,
    caller,
    credential: message.credential && credentialOf(message.credential),
    outerAuthorizer: has.outerAuthorizer ? outerAuthorizerOf(request, front) : undefined,
    open,
    isLongRunning,
    work,
    warnings: createWarnings(),
    audit: audit.context,
    receivedAt,
    outside: has.outside
      ? async (inside) => {
          const id = nextId();
          const back = front.call("outside", { request, id });
          // Awaited below.
          back.catch(() => undefined);
          try {
            return await inside();
          } finally {
            front.note("inside", { request, id });
            await back;
          }
        }
      : undefined,
    takeTurn: has.takeTurn
      ? async () => {
          const id = await front.call("takeTurn", { request });
          return { [Symbol.dispose]: () => front.note("endTurn", { request, id }) };
        }
      : undefined,
  });
  return { context, takeAudit: audit.take };
}

const credentialOf = ({ id, annotations, lineage }: CredentialMessage): RequestContext["credential"] => ({
  id,
  ...(annotations && { annotations }),
  ...(lineage && { lineage: () => lineage }),
});

/** The front knows the caller, and the credential. */
const outerAuthorizerOf = (request: number, front: Front): OuterAuthorizer => ({
  authorize: ({ credential: _, ...attributes }) => front.call("authorize", { request, attributes }),
  narrowRules: (rules, namespace) => front.call("narrowRules", { request, rules, namespace }),
});

/** Caps are those of the front, which adds the texts to its own. */
function createWarnings(): WarningRecorder {
  const texts: string[] = [];
  return {
    texts,
    add(text) {
      if (!texts.includes(text)) texts.push(text);
    },
  };
}

/** Until the response is there calls are collected; later ones are sent at once. */
function createRemoteAudit(
  { auditId, keepsBodies }: Pick<RequestMessage, "auditId" | "keepsBodies">,
  send: (calls: readonly AuditCall[]) => void,
): { readonly context: AuditContext; take(): readonly AuditCall[] } {
  let collected: AuditCall[] | undefined = [];
  const add = (...call: AuditCall): void => {
    if (collected === undefined) send([call]);
    else collected.push(call);
  };
  return {
    take() {
      const calls = collected ?? [];
      collected = undefined;
      return calls;
    },
    context: {
      auditId,
      keepsBodies,
      annotate: (key, value) => add("annotate", key, value),
      // Only the front authenticates.
      setUser: () => undefined,
      setImpersonatedUser: (...given) => add("setImpersonatedUser", ...given),
      setObjectRef: (ref) => add("setObjectRef", ref),
      setRequestObject(object) {
        if (keepsBodies) add("setRequestObject", typeof object === "function" ? object() : object);
        else if (typeof object !== "function") add("setRequestObject", identityOf(object));
      },
      setResponseStatus: (status) => add("setResponseStatus", status),
      setPanicked: () => add("setPanicked"),
    },
  };
}

/** The members that complete the reference of an event. */
function identityOf(object: JsonValue): JsonValue {
  const metadata = isJsonObject(object) ? object["metadata"] : undefined;
  if (!isJsonObject(metadata)) return {};
  const kept: { [name: string]: string } = {};
  for (const name of ["name", "namespace", "uid", "resourceVersion"]) {
    const value = metadata[name];
    if (typeof value === "string") kept[name] = value;
  }
  return { metadata: kept };
}
