// Bounds the connections to the clusters of one project together, and to all clusters: each target has a limit, and a project any number of targets.

import { ONE_THREAD, type ThreadShare } from "../config/thread-share.ts";
import { createTally } from "./tally.ts";
import type { Dial } from "./upstream-dialer.ts";
import { busyError } from "./upstream-failure.ts";

export type ConnectionSums = {
  /**
   * The same dialer, whose connections count from the dial until they close. `namespace`: of the project that the target belongs to; absent for
   * a connected cluster. The result throws ApiError 503 where there are too many.
   */
  counting(dial: Dial, namespace?: string): Dial;
};

/**
 * Bytes that a caller does not read wait here, for each connection. A tenant whose readers stall in each of its clusters fills its own share, and not the
 * memory of the server. Unused connections count.
 */
const MAX_OF_NAMESPACE = 2_048;
const MAX = 16_384;
/** Projects leave as many to connected clusters. */
const MAX_OF_NAMESPACES = MAX - MAX_OF_NAMESPACE;
/** The sum of all: no name of a namespace. */
const ALL = "*";

export function createConnectionSums(share: ThreadShare = ONE_THREAD): ConnectionSums {
  const counts = createTally();
  const partOf = (most: number): number => Math.floor(most / share.threads);

  function count(namespace: string | undefined): Disposable {
    if (namespace !== undefined && counts.of(namespace) >= partOf(MAX_OF_NAMESPACE))
      throw busyError("too many requests to the clusters of its project are in progress");
    if (counts.of(ALL) >= partOf(namespace === undefined ? MAX : MAX_OF_NAMESPACES))
      throw busyError("too many requests to all clusters are in progress");
    return counts.count(ALL, namespace);
  }

  return {
    counting: (dial, namespace) => (callback) => {
      const counted = count(namespace);
      try {
        return dial((...result) => {
          const [, socket] = result;
          if (socket === null) counted[Symbol.dispose]();
          else socket.once("close", () => counted[Symbol.dispose]());
          callback(...result);
        });
      } catch (error) {
        counted[Symbol.dispose]();
        throw error;
      }
    },
  };
}
