// Reads of many objects, with few concurrent requests, since each transfers megabytes.

import { COLLECTION, OBJECT_BYTES, TEAMS } from "../servers/access-key-object.ts";
import type { Scenario } from "./scenario.ts";

const list = (name: string, query: string, share: (objects: number) => number): Scenario => ({
  name,
  order: ({ kind, target, objects, seconds }) => ({
    kind: "load",
    target,
    protocol: "h2",
    inFlight: 4,
    seconds,
    request: {
      method: "GET",
      path: kind === "bare" ? `/bytes/${Math.round(share(objects)) * OBJECT_BYTES}` : COLLECTION + query,
    },
  }),
});

export const LISTS: readonly Scenario[] = [
  list("LIST 500 by limit", "?limit=500", () => 500),
  list("LIST all", "", (objects) => objects),
  list("LIST by label, 1 in 100", "?labelSelector=team%3Dteam-7", (objects) => objects / TEAMS),
];
