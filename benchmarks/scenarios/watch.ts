// Changes delivered to many watchers.

import { COLLECTION } from "../servers/access-key-object.ts";
import type { Scenario } from "./scenario.ts";

/** Servers accept 250 streams per connection. */
const WATCHERS = 2_000;
const CONNECTIONS = 10;
const WRITES = 50;
/** Without the initial state. */
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
      // The bare server sends what it receives, which is then as long as an event.
      body: JSON.stringify({
        spec: { description: `{t} ${run} {n} ${"z".repeat(340)}` },
        ...(kind === "bare" ? { padding: "z".repeat(800) } : {}),
      }),
      numbers: Math.min(objects, WRITES),
    },
  }),
};
