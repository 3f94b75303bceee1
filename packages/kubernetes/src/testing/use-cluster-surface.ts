// The API surface of a cluster, from the first test of a file to its last.

import { afterAll, beforeAll } from "vitest";
import { type ClusterSurface, openClusterSurface } from "./cluster-surface.ts";

export type UsedSurface = Pick<ClusterSurface, "definitions" | "send" | "settled">;

/** One for the tests of a file, or of a `describe`. */
export function useClusterSurface(...args: Parameters<typeof openClusterSurface>): UsedSurface {
  let cluster: ClusterSurface;
  beforeAll(async () => {
    cluster = await openClusterSurface(...args);
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());
  return {
    get definitions() {
      return cluster.definitions;
    },
    send: (request) => cluster.send(request),
    settled: () => cluster.settled(),
  };
}
