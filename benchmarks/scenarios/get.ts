// Reads of single objects.

import type { Protocol } from "../load/order.ts";
import { COLLECTION, OBJECT_BYTES } from "../servers/access-key-object.ts";
import { type Scenario, WARM_UP_REQUESTS } from "./scenario.ts";

const IN_FLIGHT = 32;

const get = (name: string, protocol: Protocol, inFlight = IN_FLIGHT): Scenario => ({
  name,
  ...(inFlight === IN_FLIGHT ? { warmUpRequests: WARM_UP_REQUESTS } : {}),
  order: ({ kind, target, objects, seconds }) => ({
    kind: "load",
    target,
    protocol,
    inFlight,
    seconds,
    request: {
      method: "GET",
      path: kind === "bare" ? `/bytes/${OBJECT_BYTES}` : `${COLLECTION}/key-{n}`,
      numbers: objects,
    },
  }),
});

export const GETS: readonly Scenario[] = [
  get("GET by name, HTTP/1.1, 32 connections", "h1"),
  get("GET by name, HTTP/2, 32 streams", "h2"),
];

/** The latency of a client among few concurrent requests. */
export const QUIET_GETS: readonly Scenario[] = [
  get("GET by name, HTTP/2, 1 stream", "h2", 1),
  get("GET by name, HTTP/2, 4 streams", "h2", 4),
];
