// Writes that are acknowledged when they are on disk.

import { accessKeyBody, COLLECTION, OBJECT_BYTES } from "../servers/access-key-object.ts";
import { NUMBERS_PER_RUN, type Scenario, WARM_UP_REQUESTS } from "./scenario.ts";

const create = (name: string, inFlight: number): Scenario => ({
  name,
  boundByDisk: inFlight === 1,
  ...(inFlight === 1 ? {} : { warmUpRequests: WARM_UP_REQUESTS }),
  order: ({ kind, target, seconds, run }) => ({
    kind: "load",
    target,
    protocol: "h2",
    inFlight,
    seconds,
    request: {
      method: "POST",
      path: kind === "bare" ? `/bytes/${OBJECT_BYTES}` : COLLECTION,
      body: accessKeyBody(),
      firstNumber: run * NUMBERS_PER_RUN,
    },
  }),
});

const patch: Scenario = {
  name: "PATCH (merge), 32 at once",
  warmUpRequests: WARM_UP_REQUESTS,
  order: ({ kind, target, objects, seconds, run }) => ({
    kind: "load",
    target,
    protocol: "h2",
    inFlight: 32,
    seconds,
    request: {
      method: "PATCH",
      path: kind === "bare" ? `/bytes/${OBJECT_BYTES}` : `${COLLECTION}/key-{n}`,
      contentType: "application/merge-patch+json",
      body: JSON.stringify({ spec: { description: `${"y".repeat(380)} ${run}` } }),
      numbers: objects,
    },
  }),
};

export const WRITES: readonly Scenario[] = [
  create("CREATE, durable, 64 at once", 64),
  create("CREATE, durable, one at a time", 1),
  patch,
];
