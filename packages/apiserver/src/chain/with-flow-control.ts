// Lets requests be worked on as their callers' shares allow. Whoever sends slowly or reads slowly holds no place meanwhile.
// Source: k8s.io/apiserver/pkg/server/filters/{maxinflight,priority-and-fairness}.go

import { Readable } from "node:stream";
import { requestEntityTooLargeError } from "@postern/apimachinery/meta/api-error";
import { requestLabelsOf } from "../metrics/request-labels.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { LongRunningCheck } from "../request/long-running.ts";
import type { RequestInfo } from "../request/request-info.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import { type ApiResponse, type ByteSink, textResponse } from "../transport/api-response.ts";
import { contentLengthOf } from "../transport/exchange.ts";
import { type Claimant, type FairShares, type Lane, NoPlaceError, type Place } from "./fair-shares.ts";
import type { Handler, RequestContext } from "./handler.ts";

export type WithFlowControlDeps = {
  readonly shares: FairShares;
  /** Requests that have places of their own. Absent: none. */
  readonly isUrgent?: ((context: RequestContext) => boolean) | undefined;
  /** Bytes of a body that is read before the request takes a place. A longer one that says so is left to its handler to read. */
  readonly bodyBytes: number;
  readonly isLongRunning: LongRunningCheck;
  readonly isServed: (info: RequestInfo) => boolean;
  readonly metrics: ServerMetrics;
};

const READ_VERBS: readonly string[] = ["get", "list", "watch", "head"];
/** A server under load must not be taken for one that is ill. */
const HEALTH_PATH = /^\/(healthz|livez|readyz)(\/|$)/;

export function withFlowControl(next: Handler, deps: WithFlowControlDeps): Handler {
  const { shares, isUrgent = () => false, isLongRunning, isServed, metrics } = deps;
  const laneOf = (context: RequestContext, isRead: boolean): Lane => {
    if (isUrgent(context)) return "urgent";
    return isRead ? "readOnly" : "mutating";
  };
  metrics.followFairShares(shares);

  const serve: Handler = async (context) => {
    const { info, signal } = context;
    const isRead = READ_VERBS.includes(info.verb);
    const lane = laneOf(context, isRead);
    const claimant = claimantOf(context);
    using body = isRead ? undefined : await readBody(context.request, claimant, deps);
    const taken = shares.take(lane, claimant, signal);
    const place = taken instanceof Promise ? await taken : taken;
    try {
      const response = await next(body === undefined ? context : { ...context, request: body.request });
      if (response.body.type === "stream") {
        return paced(response, place, () => shares.takeAgain(lane, claimant, signal));
      }
      place[Symbol.dispose]();
      return response;
    } catch (error) {
      place[Symbol.dispose]();
      throw error;
    }
  };
  return async (context) => {
    const { request, info } = context;
    if (isLongRunning(request, info) || (!info.isResourceRequest && HEALTH_PATH.test(info.path))) return next(context);
    try {
      return await serve(context);
    } catch (error) {
      const refusal = error instanceof NoPlaceError ? error : undefined;
      if (refusal === undefined) throw error;
      metrics.requests.rejected(requestLabelsOf(request, info, isServed(info)), refusal.reason);
      return textResponse(429, "Too many requests, please try again later.\n", { "retry-after": "1" });
    }
  };
}

/** Requests without a credential are told apart by where they come from. */
function claimantOf({ request, user, caller = user, credential }: RequestContext): Claimant {
  if (credential === undefined) return { user: `${caller.name} ${request.remoteAddress}`, key: request.remoteAddress };
  // Service accounts of different clusters have the same names.
  return { user: caller.uid === undefined ? caller.name : `${caller.name} ${caller.uid}`, key: credential.id };
}

type ReadBody = Disposable & { readonly request: ApiRequest };

/** The request with its whole body in memory, of which the caller has a share, too, until the result is disposed. */
async function readBody(
  request: ApiRequest,
  claimant: Claimant,
  { shares, bodyBytes }: Pick<WithFlowControlDeps, "shares" | "bodyBytes">,
): Promise<ReadBody | undefined> {
  const length = contentLengthOf(request);
  if (length === 0 || (length ?? 0) > bodyBytes) return undefined;
  let giveUp: (error: NoPlaceError) => void = () => undefined;
  const account = shares.body(claimant, (error) => giveUp(error));
  try {
    const bytes = await new Promise<Uint8Array>((resolve, reject) => {
      giveUp = reject;
      request.body(bodyBytes, (count) => account.add(count)).then(resolve, reject);
    });
    return { request: withBody(request, bytes), [Symbol.dispose]: () => account[Symbol.dispose]() };
  } catch (error) {
    account[Symbol.dispose]();
    throw error;
  }
}

/** As if nobody had read it yet. */
function withBody(request: ApiRequest, bytes: Uint8Array): ApiRequest {
  return {
    ...request,
    async body(limitBytes) {
      if (bytes.length > limitBytes) throw requestEntityTooLargeError(`limit is ${limitBytes}`);
      return bytes;
    },
    bodyStream: () => Readable.from(bytes.length === 0 ? [] : [bytes]),
  };
}

/** The same response, written by somebody who gives the place back with each part, and waits for the client without one. */
function paced(response: ApiResponse, first: Place, takeAgain: () => Place | Promise<Place>): ApiResponse {
  const { body } = response;
  if (body.type !== "stream") return response;
  let place = first;
  const whenTaken = async (isTaken: boolean | Promise<boolean>): Promise<boolean> => {
    if (!(await isTaken)) return false;
    place = await takeAgain();
    return true;
  };
  const run: typeof body.run = async (sink, signal) => {
    const pacedSink: ByteSink = {
      write(chunk) {
        place[Symbol.dispose]();
        return whenTaken(sink.write(chunk));
      },
      get bufferedBytes() {
        return sink.bufferedBytes;
      },
    };
    try {
      await body.run(pacedSink, signal);
    } finally {
      place[Symbol.dispose]();
    }
  };
  return { ...response, body: { type: "stream", run } };
}
