// Changes told to many watchers.

import { COLLECTION } from "../servers/access-key-object.ts";
import type { Scenario } from "./scenario.ts";

/** Servers take 250 streams on a connection. */
const WATCHERS = 2_000;
const CONNECTIONS = 10;
const WRITES = 50;
/** From now on, without what is there. */
const QUERY = "?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan";

export const WATCH: Scenario = {
  name: `WATCH, events to ${WATCHERS} watchers, HTTP/2`,
  order: ({ kind, target, objects, run }) => ({
    kind: "fan-out",
    target,
    watchers: WATCHERS,
    connections: CONNECTIONS,
    path: COLLECTION + QUERY,
    writes: WRITES,
    writesInFlight: 4,
    write: {
      method: "PATCH",
      path: `${COLLECTION}/key-{n}`,
      contentType: "application/merge-patch+json",
      // The bare server tells what it is sent, which is then as long as an event.
      body: JSON.stringify({
        spec: { description: `{t} ${run} {n} ${"z".repeat(340)}` },
        ...(kind === "bare" ? { padding: "z".repeat(800) } : {}),
      }),
      numbers: Math.min(objects, WRITES),
    },
  }),
};
