// Authenticates the request.
// Source: k8s.io/apiserver/pkg/endpoints/filters/authentication.go

import { isApiError, unauthorizedError } from "@postern/apimachinery/meta/api-error";
import {
  type Authentication,
  type Authenticator,
  type CredentialAnnotations,
  CredentialRefusedError,
} from "../authentication/authenticator.ts";
import {
  anonymousUser,
  GROUP_AUTHENTICATED,
  GROUP_UNAUTHENTICATED,
  type UserInfo,
} from "../authentication/user-info.ts";
import { type RateLimiter, sourceOf } from "../limits/rate-limiter.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { bearerTokenOf, EXTRA_SPACE_WARNING, presentedToken, webSocketProtocols } from "../request/credentials.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Clock, Scheduler } from "../runtime/clock.ts";
import { inSpan, type Tracing } from "../tracing/tracing.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";
import { flowUserOf } from "./with-flow-control.ts";

export type WithAuthenticationDeps = {
  readonly authenticator: Authenticator;
  readonly metrics: ServerMetrics;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** Wrong credentials that a source address may send; each one more is answered late. Absent: all are answered at once. */
  readonly failedLogins?: RateLimiter | undefined;
  /** Absent: no tracing. */
  readonly tracing?: Tracing | undefined;
};

/** Handles of credentials in audit events. Source: k8s.io/apiserver/pkg/authentication/serviceaccount/util.go */
export const AUDIT_CREDENTIAL = "authentication.kubernetes.io/credential-id";

const AUTHENTICATE = { name: "authenticate", kind: "internal" } as const;

/** How long the refusal of a guessed credential is delayed. */
const HOLD_MS = 1_000;

export function withAuthentication(deps: WithAuthenticationDeps): Filter {
  const { metrics, clock, tracing } = deps;
  const turns = createTurns(deps);
  const secondsSince = (startedAt: number): number => (clock.elapsed() - startedAt) / 1000;
  const onRefusal = async (error: unknown, call: RequestState, turn: Turn | undefined, startedAt: number) => {
    metrics.authentication(isApiError(error) ? "failure" : "error", secondsSince(startedAt));
    annotateRefused(call, error);
    const held = holdBack(call, error, deps);
    turn?.end(held === undefined ? 0 : HOLD_MS);
    if (held !== undefined) await held;
    throw error;
  };
  const onProof = (proof: Authentication, call: RequestState, turn: Turn | undefined, startedAt: number): undefined => {
    turn?.end(0);
    metrics.authentication("success", secondsSince(startedAt));
    take(proof, call);
  };
  const look = (call: RequestState, turn: Turn | undefined): Awaitable<undefined> => {
    const startedAt = clock.elapsed();
    if (bearerTokenOf(call.request).type === "extra-space") call.warnings.add(EXTRA_SPACE_WARNING);
    let proof: Awaitable<Authentication>;
    try {
      proof =
        tracing === undefined
          ? authenticate(call, deps)
          : inSpan(tracing, AUTHENTICATE, () => authenticate(call, deps));
    } catch (error) {
      return onRefusal(error, call, turn, startedAt);
    }
    if (!(proof instanceof Promise)) return onProof(proof, call, turn, startedAt);
    return proof
      .catch((error) => onRefusal(error, call, turn, startedAt))
      .then((found) => onProof(found, call, turn, startedAt));
  };
  return {
    enter(call) {
      // Nearly always undefined: nothing is waited for then.
      const turn = turns.next(call);
      return turn === undefined ? look(call, undefined) : turn.begin.then(() => look(call, turn));
    },
  };
}

function take(authentication: Authentication, call: RequestState): void {
  const { credential } = authentication;
  const user = withGroups(authentication.user);
  call.audit.setUser(user);
  if (credential !== undefined) {
    call.request.know?.(flowUserOf(user, credential));
    annotateCredential(call, credential.id, credential.annotations);
  }
  call.request = withoutTokenProtocol(call.request);
  call.user = user;
  call.caller = user;
  call.credential = credential;
}

function annotateCredential(
  { audit }: Pick<RequestState, "audit">,
  id: string | undefined,
  annotations: CredentialAnnotations = {},
): void {
  if (id !== undefined) audit.annotate(AUDIT_CREDENTIAL, id);
  for (const [key, value] of Object.entries(annotations)) audit.annotate(key, value);
}

/** The error itself says why: `withErrors` records that. */
function annotateRefused(call: RequestState, error: unknown): void {
  if (!isApiError(error) || !(error.cause instanceof CredentialRefusedError)) return;
  const { credentialId, annotations } = error.cause;
  call.refusedCredentialId = credentialId;
  annotateCredential(call, credentialId, annotations);
}

/**
 * Delays guesses, and nothing else: a valid credential never waits, even from an address with failures, and headers do not influence which failures
 * are counted. Undefined: the refusal may be sent at once.
 */
function holdBack(
  { request, signal }: RequestState,
  error: unknown,
  { failedLogins, scheduler }: WithAuthenticationDeps,
): Promise<void> | undefined {
  if (failedLogins === undefined || !isApiError(error) || error.code !== 401 || request.remoteAddress === "") return;
  if (error.cause instanceof CredentialRefusedError && !error.cause.isGuess) return;
  if (failedLogins.delayOf(sourceOf(request.remoteAddress)) === undefined) return;
  return new Promise<void>((resolve) => {
    const timer = scheduler.schedule(HOLD_MS, done);
    signal.addEventListener("abort", done, { once: true });
    function done(): void {
      timer[Symbol.dispose]();
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}

/** A turn of a request to have its credential looked at. */
type Turn = {
  /** Rejects where the request is aborted before. */
  readonly begin: Promise<void>;
  /** Delay in milliseconds before the next attempt on the same connection. */
  end(afterMs: number): void;
};

/**
 * Requests of an address with too many wrong credentials have theirs looked at one after the other on each connection, and the next one only when
 * a refusal has been held back, also where its client does not wait for it: a stream costs nothing, a connection is counted. Other connections, and
 * other clients of a proxy on the same one, do not wait.
 */
function createTurns({ failedLogins, scheduler }: Pick<WithAuthenticationDeps, "failedLogins" | "scheduler">): {
  next(call: RequestState): Turn | undefined;
} {
  /** By connection, and on it by source: a trusted proxy sends the requests of many clients on one connection. */
  const turns = new WeakMap<object, Map<string, Promise<void>>>();
  return {
    next(call) {
      const { connection, remoteAddress } = call.request;
      if (failedLogins === undefined || connection === undefined) return undefined;
      const source = sourceOf(remoteAddress);
      const known = turns.get(connection);
      const before = known?.get(source);
      if (before === undefined && !failedLogins.isExhausted(source)) return undefined;
      const last = known ?? new Map<string, Promise<void>>();
      turns.set(connection, last);
      let end: () => void = () => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      last.set(source, ended);
      void ended.then(() => {
        if (last.get(source) === ended) last.delete(source);
      });
      return {
        begin: turnComes(before, call.signal).catch((error: unknown) => {
          // An aborted wait does not advance the next request.
          void before?.then(end);
          throw error;
        }),
        end(afterMs) {
          if (afterMs === 0) end();
          else scheduler.schedule(afterMs, end);
        },
      };
    },
  };
}

async function turnComes(before: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  if (before === undefined) return;
  let abort: () => void = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason);
  });
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    await Promise.race([before, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Requests without a credential continue as `system:anonymous`, for authorization to decide. Throws ApiError 401. */
function authenticate(
  { request, innerRequest }: RequestState,
  { authenticator }: Pick<WithAuthenticationDeps, "authenticator">,
): Awaitable<Authentication> {
  const token = presentedToken(request);
  const found = authenticator.authenticate(request, innerRequest);
  return found instanceof Promise
    ? found.then((authentication) => authentication ?? anonymous(token))
    : (found ?? anonymous(token));
}

/** An unknown token is an error on every path. A surface without a CA for clients does not look at certificates, as kube-apiserver without one. */
function anonymous(token: string | undefined): Authentication {
  if (token !== undefined) throw unauthorizedError();
  return { user: anonymousUser };
}

function withGroups(user: UserInfo): UserInfo {
  const { groups } = user;
  if (groups.includes(GROUP_AUTHENTICATED) || groups.includes(GROUP_UNAUTHENTICATED)) return user;
  return { ...user, groups: [...groups, GROUP_AUTHENTICATED] };
}

/** Removes the token from the subprotocols, so that handlers and proxies see no secret in them. */
function withoutTokenProtocol(request: ApiRequest): ApiRequest {
  if (request.upgrade === undefined || request.headers["sec-websocket-protocol"] === undefined) return request;
  const { "sec-websocket-protocol": _, ...headers } = request.headers;
  const protocols = webSocketProtocols(request).join(", ");
  return request.with({ headers: protocols === "" ? headers : { ...headers, "sec-websocket-protocol": protocols } });
}
