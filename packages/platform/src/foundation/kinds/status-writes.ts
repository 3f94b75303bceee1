// Marks the writes of a status by the server. Every other write of the object leaves the status as it is.

import type { RequestContext } from "@postern/apiserver/context/request-context";

export type StatusWrites = {
  /** Runs a write of the status by the server. */
  during<T>(context: RequestContext, write: () => Promise<T>): Promise<T>;
  has(context: RequestContext): boolean;
};

export function createStatusWrites(): StatusWrites {
  const contexts = new WeakSet<RequestContext>();
  return {
    async during(context, write) {
      contexts.add(context);
      try {
        return await write();
      } finally {
        contexts.delete(context);
      }
    },
    has: (context) => contexts.has(context),
  };
}
