// The connections to one target: kept open between requests, bounded in number, made only to addresses that the rules allow.

import http, { type ClientRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { timeoutError } from "@postern/apimachinery/meta/api-error";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import type { AddressRules } from "./address-rules.ts";
import { AddressRefusedError, createGuardedLookup, type ResolveHost, refuseLiteral } from "./guarded-lookup.ts";
import type { ProxyTarget } from "./proxy-target.ts";
import { createRequestSlots, type SlotLimits } from "./request-slots.ts";
import { ConnectTimeoutError, codeOf, upstreamError } from "./upstream-failure.ts";

export type UpstreamLimits = SlotLimits & {
  /** Name resolution, TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From the request to the end of the response, for requests that do not last; for upgrades and watches, to its head. */
  readonly responseTimeoutMs: number;
  /** How long an unused connection is kept: less than Kubernetes' API servers do, so that we are the one who closes it. */
  readonly idleTimeoutMs: number;
};

export const DEFAULT_UPSTREAM_LIMITS: UpstreamLimits = {
  maxConnections: 1_000,
  maxUpgrades: 250,
  connectTimeoutMs: 10_000,
  responseTimeoutMs: 60_000,
  idleTimeoutMs: 30_000,
};

export type UpstreamOptions = {
  readonly scheduler: Scheduler;
  readonly addresses: AddressRules;
  readonly limits?: Partial<UpstreamLimits>;
  /** Absent: the operating system's. */
  readonly resolve?: ResolveHost;
};

export type UpstreamRequest = {
  readonly method: string;
  /** Below the base URL of the target, encoded, with the query. */
  readonly path: string;
  /** Complete, but for Host. */
  readonly headers: OutgoingHttpHeaders;
  /** Whether the request asks to leave HTTP. */
  readonly upgrade?: boolean;
  /** Whether it may take as long as it likes. */
  readonly lasts?: boolean;
  /** Of what lasts: whether at least the head of the response is due as soon as any other. */
  readonly answersAtOnce?: boolean;
  readonly signal: AbortSignal;
  /** Writes the body and ends the request. Absent: there is none, and a request on a stale connection may be sent again. */
  readonly writeBody?: (request: ClientRequest) => void;
};

export type UpstreamAnswer =
  | { readonly type: "response"; readonly response: IncomingMessage }
  | { readonly type: "upgraded"; readonly response: IncomingMessage; readonly socket: Socket; readonly head: Buffer };

export type UpstreamConnections = Disposable & {
  readonly target: ProxyTarget;
  /**
   * Resolves with the head of the response. Rejects with an ApiError, or with the reason of the signal, which goes on to cut the
   * response after that.
   */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Requests under way. */
  readonly active: number;
  /** Lets what is under way come to its end, and closes the connections then. */
  retire(): void;
};

const TCP_KEEP_ALIVE_MS = 30_000;
const MAX_FREE_SOCKETS = 32;

/** Throws TypeError for a base URL that is none, and what OpenSSL says about certificates and keys that do not fit together. */
export function createUpstreamConnections(target: ProxyTarget, options: UpstreamOptions): UpstreamConnections {
  const { scheduler, addresses, resolve } = options;
  const limits = { ...DEFAULT_UPSTREAM_LIMITS, ...options.limits };
  const base = new URL(target.server);
  const isSecure = base.protocol === "https:";
  if (!isSecure && base.protocol !== "http:") throw new TypeError("the target must be an http or https URL");
  const host = base.hostname.replace(/^\[(.*)\]$/, "$1");
  const basePath = base.pathname.replace(/\/+$/, "");
  const connection = {
    lookup: createGuardedLookup(addresses, resolve),
    ...(isSecure ? tlsOptionsOf(target) : {}),
  };
  const agent = new (isSecure ? https : http).Agent({
    ...connection,
    keepAlive: true,
    maxFreeSockets: MAX_FREE_SOCKETS,
    timeout: limits.idleTimeoutMs,
  });
  const upgraded = new Set<Socket>();
  let retired = false;
  const closeWhenIdle = (): void => {
    if (retired && slots.active === 0) agent.destroy();
  };
  const slots = createRequestSlots(limits, closeWhenIdle);

  function open({ method, path, headers, upgrade }: UpstreamRequest): ClientRequest {
    refuseLiteral(host, addresses);
    return (isSecure ? https : http).request({
      // An upgraded connection is nobody else's before or after: whatever comes of it, it is not used again.
      ...(upgrade === true ? { ...connection, agent: false } : { agent }),
      host,
      port: base.port === "" ? undefined : base.port,
      method,
      path: basePath + path,
      headers: { host: base.host, ...headers },
    });
  }

  function sendOnce(asked: UpstreamRequest): Promise<UpstreamAnswer> {
    const { signal, upgrade = false, lasts = false, answersAtOnce = upgrade, writeBody } = asked;
    signal.throwIfAborted();
    const release = slots.take(upgrade);
    return new Promise<UpstreamAnswer>((resolve, reject) => {
      const request = open(asked);
      const onAbort = (): void => void request.destroy(asError(signal.reason));
      signal.addEventListener("abort", onAbort);
      const timer =
        lasts && !answersAtOnce
          ? undefined
          : scheduler.schedule(limits.responseTimeoutMs, () => request.destroy(noResponse()));
      const connected = watchConnect(request, isSecure, scheduler, limits.connectTimeoutMs);
      const settle = (): void => timer?.[Symbol.dispose]();

      request.on("error", (error) => {
        settle();
        reject(signal.aborted ? signal.reason : new FailedRequest(error, connected(), isStale(request, error)));
      });
      request.once("response", (response) => {
        if (lasts) settle();
        // A body that nobody reads to its end any more would keep the connection for ever.
        response.once("end", () => {
          if (!request.writableFinished) request.destroy();
        });
        resolve({ type: "response", response });
      });
      request.once("upgrade", (response, socket, head) => {
        settle();
        upgraded.add(socket);
        const onSocketAbort = (): void => void socket.destroy();
        signal.addEventListener("abort", onSocketAbort);
        socket.once("close", () => {
          signal.removeEventListener("abort", onSocketAbort);
          upgraded.delete(socket);
          release();
        });
        resolve({ type: "upgraded", response, socket, head });
      });
      request.once("close", () => {
        settle();
        signal.removeEventListener("abort", onAbort);
        // An upgraded connection goes on without its request.
        if (request.socket === null || !upgraded.has(request.socket)) release();
      });
      if (writeBody === undefined) request.end();
      else writeBody(request);
    }).catch((error: unknown) => {
      release();
      throw error;
    });
  }

  return {
    target,
    get active() {
      return slots.active;
    },
    async send(request) {
      const mayRepeat = request.writeBody === undefined && ["GET", "HEAD"].includes(request.method);
      for (;;) {
        try {
          return await sendOnce(request);
        } catch (error) {
          if (error instanceof AddressRefusedError) throw upstreamError(error, false);
          if (!(error instanceof FailedRequest)) throw error;
          // Each attempt uses one stale connection up, so that this ends.
          if (!(mayRepeat && error.stale)) throw upstreamError(error.cause, error.sent && !mayRepeat);
        }
      }
    },
    retire() {
      retired = true;
      closeWhenIdle();
    },
    [Symbol.dispose]() {
      retired = true;
      agent.destroy();
      for (const socket of upgraded) socket.destroy();
    },
  };
}

/** Parsed once, so that no connection does it again. */
function tlsOptionsOf({ certificateAuthorityPem, tlsServerName, insecureSkipTlsVerify, credential }: ProxyTarget) {
  const { clientCertificate } = credential;
  const secureContext = createSecureContext({
    minVersion: "TLSv1.2",
    ...(certificateAuthorityPem === undefined ? {} : { ca: certificateAuthorityPem }),
    ...(clientCertificate === undefined
      ? {}
      : { cert: clientCertificate.certificatePem, key: clientCertificate.privateKeyPem }),
  });
  return {
    secureContext,
    rejectUnauthorized: insecureSkipTlsVerify !== true,
    ...(tlsServerName === undefined ? {} : { servername: tlsServerName }),
  };
}

/** Destroys a request that does not get a connection in time. The result tells whether it has one. */
function watchConnect(
  request: ClientRequest,
  isSecure: boolean,
  scheduler: Scheduler,
  timeoutMs: number,
): () => boolean {
  let connected = false;
  const timer = scheduler.schedule(timeoutMs, () => request.destroy(new ConnectTimeoutError()));
  const done = (): void => timer[Symbol.dispose]();
  const onConnected = (): void => {
    connected = true;
    done();
  };
  request.once("socket", (socket) => {
    if (request.reusedSocket) return onConnected();
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS);
    socket.once(isSecure ? "secureConnect" : "connect", onConnected);
  });
  request.once("close", done);
  return () => connected;
}

/** The server closed a kept connection just when we took it. */
const isStale = (request: ClientRequest, error: Error): boolean =>
  request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(codeOf(error));

class FailedRequest extends Error {
  override readonly name = "FailedRequest";
  /** Whether the target may have got to see the request. */
  readonly sent: boolean;
  readonly stale: boolean;

  constructor(cause: Error, sent: boolean, stale: boolean) {
    super(cause.message, { cause });
    this.sent = sent;
    this.stale = stale;
  }
}

const noResponse = () => timeoutError("the cluster did not answer within the allotted time");

const asError = (reason: unknown): Error =>
  reason instanceof Error ? reason : new Error("aborted", { cause: reason });
