// Connections to one target: TLS, kept alive, limited in number, and only to allowed addresses.

import http, { type ClientRequest } from "node:http";
import https from "node:https";
import type { Socket } from "node:net";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { inSpan, type Tracing } from "@postern/apiserver/tracing/tracing";
import type { AddressRules } from "./address-rules.ts";
import { AddressRefusedError, createGuardedLookup, refuseLiteral } from "./guarded-lookup.ts";
import type { ProxyTarget } from "./proxy-target.ts";
import type { ResolveHost } from "./resolve-host.ts";
import {
  type ExchangeLimits,
  exchange,
  FailedRequestError,
  type UpstreamAnswer,
  type UpstreamRequest,
} from "./upstream-exchange.ts";
import { busyError, upstreamError } from "./upstream-failure.ts";
import { upstreamTls } from "./upstream-tls.ts";

export type UpstreamLimits = SlotLimits &
  ExchangeLimits & {
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

export type UpstreamDeps = {
  readonly scheduler: Scheduler;
  readonly addresses: AddressRules;
  readonly limits?: Partial<UpstreamLimits>;
  /** Absent: the operating system's. */
  readonly resolve?: ResolveHost;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
};

export type UpstreamConnections = Disposable & {
  readonly target: ProxyTarget;
  /**
   * Resolves with the head of the response. Rejects with an ApiError, or with the reason of the signal, which goes on to cut the
   * response after that.
   */
  send(request: UpstreamRequest): Promise<UpstreamAnswer>;
  /** Requests under way. */
  readonly active: number;
  /** Closes long-running requests, waits for all others, then closes the connections. */
  retire(): void;
};

/** Throws TypeError for a base URL that is none, CostlyTlsError, and what OpenSSL says about certificates and keys that do not fit together. */
export function createUpstreamConnections(target: ProxyTarget, deps: UpstreamDeps): UpstreamConnections {
  const { scheduler, addresses, resolve, tracing } = deps;
  const limits = { ...DEFAULT_UPSTREAM_LIMITS, ...deps.limits };
  const dialer = createUpstreamDialer(target, { addresses, resolve, idleTimeoutMs: limits.idleTimeoutMs });
  const upgraded = new Set<Socket>();
  /** Callbacks that end the lasting requests. */
  const lasting = new Set<(reason: Error) => void>();
  let retired = false;
  const closeWhenIdle = (): void => {
    if (retired && slots.active === 0) dialer.close();
  };
  const slots = createRequestSlots(limits, closeWhenIdle);

  /** The slot is given back when nothing of the exchange is under way any more, which outlasts the request where it is upgraded. */
  async function sendOnce(wanted: UpstreamRequest): Promise<UpstreamAnswer> {
    wanted.signal.throwIfAborted();
    const giveBack = slots.take(wanted.upgrade === true);
    const { asked, done } = endingWithTarget(wanted, lasting);
    const release = (): void => {
      done();
      giveBack();
    };
    const onUpgraded = (socket: Socket): void => {
      upgraded.add(socket);
      socket.once("close", () => {
        upgraded.delete(socket);
        release();
      });
    };
    try {
      return await exchange(dialer.open(asked), asked, { scheduler, limits, onUpgraded, onClosed: release });
    } catch (error) {
      release();
      throw error;
    }
  }

  async function send(request: UpstreamRequest): Promise<UpstreamAnswer> {
    const { mayRepeat = request.writeBody === undefined && ["GET", "HEAD"].includes(request.method) } = request;
    for (;;) {
      try {
        return await sendOnce(request);
      } catch (error) {
        if (error instanceof AddressRefusedError) throw upstreamError(error, false);
        if (!(error instanceof FailedRequestError)) throw error;
        // Each attempt uses one stale connection up, so that this ends.
        if (!(mayRepeat && error.stale)) throw upstreamError(error.cause, error.sent && !mayRepeat);
      }
    }
  }

  const { hostname, port } = new URL(target.server);
  /** The span ends with the head of the response. Of the path nothing is told that the span of the request does not have. */
  const sendTraced = (spans: Tracing, request: UpstreamRequest): Promise<UpstreamAnswer> => {
    const attributes = {
      "http.request.method": request.method,
      "server.address": hostname,
      ...(port === "" ? {} : { "server.port": Number(port) }),
    };
    return inSpan(spans, { name: request.method, kind: "client", attributes }, async (span) => {
      // Those of the caller belong to another span.
      const { traceparent: _, tracestate: __, ...headers } = request.headers;
      const answer = await send({ ...request, headers: { ...headers, ...spans.headers() } });
      const { statusCode = 0 } = answer.response;
      span.set({ "http.response.status_code": statusCode });
      if (statusCode >= 400) span.fail(String(statusCode));
      return answer;
    });
  };

  return {
    target,
    get active() {
      return slots.active;
    },
    send: (request) => (tracing?.isActive() === true ? sendTraced(tracing, request) : send(request)),
    retire() {
      retired = true;
      for (const end of [...lasting]) end(new Error("the connection settings of the cluster have changed"));
      closeWhenIdle();
    },
    [Symbol.dispose]() {
      retired = true;
      dialer.close();
      for (const socket of upgraded) socket.destroy();
    },
  };
}

/** A request that lasts ends with its own signal, and with whatever calls what it puts among `lasting`. */
function endingWithTarget(
  wanted: UpstreamRequest,
  lasting: Set<(reason: Error) => void>,
): { readonly asked: UpstreamRequest; readonly done: () => void } {
  if (wanted.lasts !== true) return { asked: wanted, done: () => {} };
  const ending = new AbortController();
  const end = (reason: unknown): void => ending.abort(reason);
  const onAbort = (): void => end(wanted.signal.reason);
  wanted.signal.addEventListener("abort", onAbort, { once: true });
  lasting.add(end);
  return {
    asked: { ...wanted, signal: ending.signal },
    done() {
      lasting.delete(end);
      wanted.signal.removeEventListener("abort", onAbort);
    },
  };
}

// Bounds the requests that are under way to one target.

type SlotLimits = {
  /** Requests under way at one time, upgraded ones included; each has a connection of its own. */
  readonly maxConnections: number;
  readonly maxUpgrades: number;
};

type RequestSlots = {
  /** How many are taken. */
  readonly active: number;
  /** Throws ApiError 503 where all are taken. The result gives the slot back, once. */
  take(upgrade: boolean): () => void;
};

/** `onRelease` is called after each slot that is given back. */
function createRequestSlots({ maxConnections, maxUpgrades }: SlotLimits, onRelease: () => void): RequestSlots {
  let active = 0;
  let upgrades = 0;
  return {
    get active() {
      return active;
    },
    take(upgrade) {
      if (active >= maxConnections || (upgrade && upgrades >= maxUpgrades)) throw busyError();
      active += 1;
      if (upgrade) upgrades += 1;
      let taken = true;
      return () => {
        if (!taken) return;
        taken = false;
        active -= 1;
        if (upgrade) upgrades -= 1;
        onRelease();
      };
    },
  };
}

// Opens requests to one target: its address, its TLS, and the connections that are kept for the next request.

type UpstreamDialer = {
  /** The caller writes the body of the request, and ends it. Throws AddressRefusedError. */
  open(request: Pick<UpstreamRequest, "method" | "path" | "headers" | "upgrade">): ClientRequest;
  /** Closes the connections that were not upgraded. */
  close(): void;
};

type UpstreamDialerDeps = {
  readonly addresses: AddressRules;
  readonly resolve: ResolveHost | undefined;
  readonly idleTimeoutMs: number;
};

const MAX_FREE_SOCKETS = 32;

/** Throws TypeError for a base URL that is none, CostlyTlsError, and what OpenSSL says about certificates and keys that do not fit together. */
function createUpstreamDialer(
  target: ProxyTarget,
  { addresses, resolve, idleTimeoutMs }: UpstreamDialerDeps,
): UpstreamDialer {
  const base = new URL(target.server);
  const isSecure = base.protocol === "https:";
  if (!isSecure && base.protocol !== "http:") throw new TypeError("the target must be an http or https URL");
  const { Agent, request } = isSecure ? https : http;
  const host = base.hostname.replace(/^\[(.*)\]$/, "$1");
  const basePath = trimTrailing(base.pathname, "/");
  const connection = {
    lookup: createGuardedLookup(addresses, resolve),
    ...(isSecure ? upstreamTls(target) : {}),
  };
  const agent = new Agent({
    ...connection,
    keepAlive: true,
    maxFreeSockets: MAX_FREE_SOCKETS,
    timeout: idleTimeoutMs,
  });

  return {
    open({ method, path, headers, upgrade }) {
      refuseLiteral(host, addresses);
      return request({
        // An upgraded connection is nobody else's before or after: whatever comes of it, it is not used again.
        ...(upgrade === true ? { ...connection, agent: false } : { agent }),
        host,
        port: base.port === "" ? undefined : base.port,
        method,
        path: basePath + path,
        headers: { host: base.host, ...headers },
      });
    },
    close: () => agent.destroy(),
  };
}
