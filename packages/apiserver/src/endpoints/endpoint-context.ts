// Dependencies of the endpoint handlers, and the type of a verb handler.

import type { Authorizer } from "../authorization/authorizer.ts";
import type { RequestContext } from "../context/request-context.ts";
import type { InstalledResource } from "../registry/resource-registry.ts";
import type { Awaitable } from "../runtime/awaitable.ts";
import type { Runtime } from "../runtime/clock.ts";
import type { ApiResponse } from "../transport/api-response.ts";
import type { BacklogScope } from "../transport/watch-backlog.ts";
import type { EventLines } from "./handlers/event-lines.ts";
import type { ListSegments } from "./negotiation/list-segments.ts";

export type EndpointLimits = {
  /** Bytes of a request body. */
  readonly bodyBytes: number;
};

/** The limits of kube-apiserver where it has them. */
export const DEFAULT_LIMITS: EndpointLimits = { bodyBytes: 3 * 1024 * 1024 };

export type WatchMetrics = {
  watchEvent(resource: InstalledResource): void;
  /** A watch was ended because too much waited for its client, or for others, or because its client did not read the end of it (`farewell`). */
  watchTerminated(resource: InstalledResource, scope: BacklogScope | "farewell"): void;
};

export type EndpointContext = {
  /** Asked again where a request turns out to do more than its verb says: an apply or update that creates. */
  readonly authorizer: Authorizer;
  readonly runtime: Runtime;
  readonly limits: EndpointLimits;
  readonly eventLines: EventLines;
  readonly listSegments: ListSegments;
  readonly metrics?: WatchMetrics;
};

/** Answers one verb on a resource or one of its subresources. */
export type VerbHandler = (
  context: RequestContext,
  resource: InstalledResource,
  endpoint: EndpointContext,
) => Awaitable<ApiResponse>;
