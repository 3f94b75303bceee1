// Connections to one target: TLS, kept alive, limited in number, and only to allowed addresses.

import type { Duplex } from "node:stream";
import { caught } from "@postern/apimachinery/steps/caught";
import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { inSpan, type Tracing } from "@postern/apiserver/tracing/tracing";
import { Cancellation, whenAborted } from "@postern/apiserver/transport/cancellation";
import type { AddressRules } from "./address-rules.ts";
import type { ConnectionSums } from "./connection-sums.ts";
import { headerList, withoutHeaders } from "./header-list.ts";
import { createRequestSlots, type SlotLimits } from "./request-slots.ts";
import type { ResolveHost } from "./resolve-host.ts";
import { createDialer, type Dial } from "./upstream-dialer.ts";
import {
  type ExchangeDeps,
  type ExchangeLimits,
  exchange,
  FailedRequestError,
  type UpstreamAnswer,
  type UpstreamRequest,
} from "./upstream-exchange.ts";
import { unaskedUpgradeError, upstreamError } from "./upstream-failure.ts";
import { createUpstreamPool } from "./upstream-pool.ts";
import type { UpstreamResponse } from "./upstream-response.ts";
import type { UpstreamTarget } from "./upstream-target.ts";

export type UpstreamLimits = SlotLimits &
  ExchangeLimits & {
    /** Name resolution, TCP and TLS together. */
    readonly connectTimeoutMs: number;
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
  /** Opens connections instead of the target's address, in a tunnel. Absent: they go to its address. */
  readonly dial?: Dial;
  /** Counts its connections beside those to other targets. Absent: it has the limits of its own alone. */
  readonly sums?: ConnectionSums;
  /** The namespace of the project that the target belongs to, for `sums`. */
  readonly namespace?: string | undefined;
  /** Absent: the operating system's. */
  readonly resolve?: ResolveHost;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
};

export type UpstreamConnections = Disposable & {
  readonly target: UpstreamTarget;
  /**
   * Resolves with the head of the response. Rejects with an ApiError, or with the reason of the signal, which goes on to cut the
   * response after that.
   */
  send(request: UpstreamRequest): Promise<UpstreamResponse>;
  /** The same for a request that asks to leave HTTP. */
  upgrade(request: UpstreamRequest & { readonly upgrade: string }): Promise<UpstreamAnswer>;
  /** Requests under way. */
  readonly active: number;
  /** Closes long-running requests, waits for all others, then closes the connections. */
  retire(): void;
};

/** Throws TypeError for a base URL that is none, CostlyTlsError, and what OpenSSL says about certificates and keys that do not fit together. */
export function createUpstreamConnections(target: UpstreamTarget, deps: UpstreamDeps): UpstreamConnections {
  const { scheduler, addresses, resolve, tracing } = deps;
  const limits = { ...DEFAULT_UPSTREAM_LIMITS, ...deps.limits };
  const { connectTimeoutMs, idleTimeoutMs } = limits;
  const own = deps.dial ?? createDialer(target, { scheduler, addresses, resolve, connectTimeoutMs });
  const dial = deps.sums?.counting(own, deps.namespace) ?? own;
  const { origin, pathname, hostname, port } = new URL(target.server);
  const basePath = trimTrailing(pathname, "/");
  const pool = createUpstreamPool({ origin, dial, idleTimeoutMs });
  const upgraded = new Set<Duplex>();
  /** Callbacks that end the lasting requests. */
  const lasting = new Set<(reason: Error) => void>();
  const echo = { isKnown: false };
  let retired = false;
  const closeWhenIdle = (): void => {
    if (retired && slots.active === 0) pool.close();
  };
  const slots = createRequestSlots(limits, closeWhenIdle);

  /** The slot is given back when nothing of the exchange is under way any more, which outlasts the request where it is upgraded. Throws what `take` of the slots does. */
  function sendOnce(
    wanted: UpstreamRequest,
    { onAnswer, onFailure }: Pick<ExchangeDeps, "onAnswer" | "onFailure">,
  ): void {
    const isUpgrade = wanted.upgrade !== undefined;
    const giveBack = slots.take(isUpgrade);
    const { asked, done } = endingWithTarget(wanted, lasting);
    const release = (): void => {
      done();
      giveBack();
    };
    const onUpgraded = (socket: Duplex): void => {
      upgraded.add(socket);
      socket.once("close", () => {
        upgraded.delete(socket);
        release();
      });
    };
    try {
      // An upgraded connection serves this request alone, and is never used again.
      const take = isUpgrade ? pool.open : pool.take;
      const deps = { scheduler, limits, echo, onUpgraded, onClosed: release, onAnswer, onFailure };
      exchange(take, basePath + asked.path, asked, deps);
    } catch (error) {
      release();
      throw error;
    }
  }

  /** One promise for all attempts: most requests of the proxy come by here. */
  const sendUntilAnswered = (request: UpstreamRequest): Promise<UpstreamAnswer> =>
    new Promise((resolve, reject) => {
      const { mayRepeat = request.body === undefined && ["GET", "HEAD"].includes(request.method) } = request;
      const attempt = (): void => sendOnce(request, { onAnswer: resolve, onFailure });
      const onFailure = caught(reject, (error: unknown) => {
        if (!(error instanceof FailedRequestError)) reject(error);
        // Each attempt uses one stale connection up, so that this ends.
        else if (error.stale && (mayRepeat || !error.sent)) attempt();
        else reject(upstreamError(error.cause, error.sent && !mayRepeat));
      });
      attempt();
    });

  /** The span ends with the head of the response. Of the path nothing is told that the span of the request does not have. */
  const sendTraced = (spans: Tracing, request: UpstreamRequest): Promise<UpstreamAnswer> => {
    const attributes = {
      "http.request.method": request.method,
      "server.address": hostname,
      ...(port === "" ? {} : { "server.port": Number(port) }),
    };
    return inSpan(spans, { name: request.method, kind: "client", attributes }, async (span) => {
      // The trace headers of the caller belong to another span.
      const headers = withoutHeaders(headerList(request.headers), ["traceparent", "tracestate"]);
      const answer = await sendUntilAnswered({ ...request, headers: [...headers, ...headerList(spans.headers())] });
      const statusCode = answer.type === "response" ? answer.response.statusCode : 101;
      span.set({ "http.response.status_code": statusCode });
      if (statusCode >= 400) span.fail(String(statusCode));
      return answer;
    });
  };

  const ask = (request: UpstreamRequest): Promise<UpstreamAnswer> =>
    tracing?.isActive() === true ? sendTraced(tracing, request) : sendUntilAnswered(request);

  return {
    target,
    get active() {
      return slots.active;
    },
    send: (request) => ask(request).then(responseOf),
    upgrade: ask,
    retire() {
      retired = true;
      for (const end of [...lasting]) end(new Error("the connection settings of the cluster have changed"));
      closeWhenIdle();
    },
    [Symbol.dispose]() {
      retired = true;
      pool.close();
      for (const socket of upgraded) socket.destroy();
    },
  };
}

function responseOf(answer: UpstreamAnswer): UpstreamResponse {
  if (answer.type === "response") return answer.response;
  answer.socket.destroy();
  throw unaskedUpgradeError();
}

/** A request that lasts ends with its own signal, and with whatever calls what it puts among `lasting`. */
function endingWithTarget(
  wanted: UpstreamRequest,
  lasting: Set<(reason: Error) => void>,
): { readonly asked: UpstreamRequest; readonly done: () => void } {
  if (wanted.lasts !== true) return { asked: wanted, done: () => {} };
  const ending = new Cancellation();
  const end = (reason: unknown): void => ending.abort(reason);
  const following = whenAborted(wanted.signal, end);
  lasting.add(end);
  return {
    asked: { ...wanted, signal: ending },
    done() {
      lasting.delete(end);
      following[Symbol.dispose]();
    },
  };
}
