// Limits concurrency by fair shares of users. Slow senders and readers do not hold a place.
// Source: k8s.io/apiserver/pkg/server/filters/{maxinflight,priority-and-fairness}.go

import { Readable } from "node:stream";
import { requestEntityTooLargeError } from "@postern/apimachinery/meta/api-error";
import type { Credential } from "../authentication/authenticator.ts";
import type { UserInfo } from "../authentication/user-info.ts";
import { type Claimant, NoPlaceError } from "../limits/body-memory.ts";
import type { FairShares, Lane, Place } from "../limits/fair-shares.ts";
import { requestLabelsOf } from "../metrics/request-labels.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import { type ApiResponse, type ByteSink, textResponse } from "../transport/api-response.ts";
import { contentLengthOf } from "../transport/exchange/exchange.ts";
import type { RequestState } from "./request-state.ts";
import type { Filter } from "./run-filters.ts";

export type WithFlowControlDeps = {
  readonly shares: FairShares;
  /** Requests that have places of their own. Absent: none. */
  readonly isUrgent?: ((call: RequestState) => boolean) | undefined;
  /** Bytes of a body that is read before the request takes a place. The handler reads a body with a larger Content-Length. */
  readonly bodyBytes: number;
  readonly metrics: ServerMetrics;
};

const READ_VERBS: readonly string[] = ["get", "list", "watch", "head"];
/** Probes must not take an overloaded server for a broken one. */
const HEALTH_PATH = /^\/(healthz|livez|readyz)(\/|$)/;

export function withFlowControl(deps: WithFlowControlDeps): Filter {
  const { shares, isUrgent = () => false, metrics } = deps;
  metrics.followFairShares(shares);

  const laneOf = (call: RequestState): Lane => {
    if (isUrgent(call)) return "urgent";
    return isRead(call) ? "readOnly" : "mutating";
  };
  const take = (call: RequestState): Awaitable<undefined> => {
    const place = shares.take(laneOf(call), claimantOf(call), call);
    if (place instanceof Promise) return place.then((given) => hold(given, call));
    return hold(place, call);
  };
  const hold = (place: Place, call: RequestState): undefined => {
    call.place = place;
    // Reads, too, wait for webhooks: those that convert objects.
    call.outside = placeGiver(call);
    call.leavePlace = () => givePlace(call);
  };
  const takeTurn = (call: RequestState): Promise<Place> => shares.takeTurn(laneOf(call), claimantOf(call), call);
  /** A request that waits for several webhooks at once gives its place once, and takes one again when the last of them has answered. */
  const placeGiver = (call: RequestState) => {
    let waits = 0;
    return async <T>(work: () => Promise<T>): Promise<T> => {
      if (waits++ === 0) givePlace(call);
      try {
        return await work();
      } finally {
        if (--waits === 0 && !call.hasLeft) {
          const place = await shares.takeAgain(laneOf(call), claimantOf(call), call);
          // By now it may wait again, or its client may have gone.
          if (waits > 0 || call.place !== undefined || call.hasLeft) place[Symbol.dispose]();
          else call.place = place;
        }
      }
    };
  };
  const takeWithBody = (call: RequestState): Awaitable<undefined> =>
    whenDone(readBody(call, deps), (bytes) => {
      if (bytes !== undefined) call.request = withBody(call.request, bytes);
      return take(call);
    });
  const refused = (error: unknown, call: RequestState): ApiResponse => {
    release(call);
    if (!(error instanceof NoPlaceError)) throw error;
    const { request, info } = call;
    metrics.requests.rejected(requestLabelsOf(request, info, call.isServed(info)), error.reason);
    return textResponse(429, "Too many requests, please try again later.\n", { "retry-after": "1" });
  };
  return {
    enter(call) {
      const { info, isLongRunning } = call;
      if (isLongRunning) {
        call.takeTurn = () => takeTurn(call);
        return undefined;
      }
      if (!info.isResourceRequest && HEALTH_PATH.test(info.path)) return undefined;
      try {
        const entered = isRead(call) ? take(call) : takeWithBody(call);
        return entered instanceof Promise ? entered.catch((error) => refused(error, call)) : entered;
      } catch (error) {
        return refused(error, call);
      }
    },
    leave(response, call) {
      if (call.place !== undefined && response.body.type === "stream") {
        call.body?.[Symbol.dispose]();
        return paced(response, call, () => takeTurn(call));
      }
      release(call);
      return response;
    },
    fail: refused,
  };
}

const isRead = ({ info }: RequestState): boolean => READ_VERBS.includes(info.verb);

function givePlace(call: RequestState): void {
  call.place?.[Symbol.dispose]();
  call.place = undefined;
}

/** Gives back all that the request holds; more than once does no harm. */
export function release(call: RequestState): void {
  call.hasLeft = true;
  call.body?.[Symbol.dispose]();
  call.place?.[Symbol.dispose]();
}

/** Requests without a credential are distinguished by where they come from. */
function claimantOf({ request, caller, credential }: RequestState): Claimant {
  if (credential === undefined) {
    return { user: `${caller.name} ${request.remoteAddress}`, key: request.remoteAddress, isUnauthenticated: true };
  }
  return { user: flowUserOf(caller, credential), key: credential.id };
}

/** The user whose time, places and connections count together. */
export function flowUserOf(user: Pick<UserInfo, "name" | "uid">, { account }: Pick<Credential, "account">): string {
  if (account !== undefined) return account;
  const { name, uid } = user;
  if (uid === undefined) return name;
  const known = flowUsers.get(user) ?? `${name} ${uid}`;
  flowUsers.set(user, known);
  return known;
}

/** Authenticators that remember a user spare us the text, which is the key of several maps. */
const flowUsers = new WeakMap<Pick<UserInfo, "name" | "uid">, string>();

/** The whole body, of which the caller has a share, too, until the request gives it back. Undefined where the handler reads it. */
function readBody(
  call: RequestState,
  { shares, bodyBytes }: Pick<WithFlowControlDeps, "shares" | "bodyBytes">,
): Awaitable<Uint8Array | undefined> {
  const length = contentLengthOf(call.request);
  if (length === 0 || (length ?? 0) > bodyBytes) return undefined;
  let giveUp: (error: NoPlaceError) => void = () => undefined;
  const account = shares.body(claimantOf(call), (error) => giveUp(error));
  call.body = account;
  const bytes = call.request.body(bodyBytes, (count) => account.add(count));
  if (!(bytes instanceof Promise)) return bytes;
  return new Promise((resolve, reject) => {
    giveUp = reject;
    bytes.then(resolve, reject);
  });
}

/** As if it had not been read yet. */
function withBody(request: ApiRequest, bytes: Uint8Array): ApiRequest {
  return request.with({
    wholeBody: bytes,
    body(limitBytes) {
      if (bytes.length > limitBytes) throw requestEntityTooLargeError(`limit is ${limitBytes}`);
      return bytes;
    },
    bodyStream: () => Readable.from(bytes.length === 0 ? [] : [bytes]),
  });
}

/** The same response with a body that releases its place after each part, while it waits for the client and then for its next turn. */
function paced(response: ApiResponse, call: RequestState, takeTurn: () => Promise<Place>): ApiResponse {
  const { body } = response;
  if (body.type !== "stream") return response;
  const whenTaken = async (isTaken: boolean | Promise<boolean>): Promise<boolean> => {
    if (!(await isTaken)) return false;
    const place = await takeTurn();
    if (call.hasLeft) place[Symbol.dispose]();
    else call.place = place;
    return !call.hasLeft;
  };
  const run: typeof body.run = async (sink, signal) => {
    const pacedSink: ByteSink = {
      write(chunk) {
        call.place?.[Symbol.dispose]();
        return whenTaken(sink.write(chunk));
      },
      get bufferedBytes() {
        return sink.bufferedBytes;
      },
    };
    try {
      await body.run(pacedSink, signal);
    } finally {
      release(call);
    }
  };
  return { ...response, body: { type: "stream", run } };
}
