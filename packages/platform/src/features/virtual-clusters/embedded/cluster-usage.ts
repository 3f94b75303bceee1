// Tracks when the last request of a cluster was in progress.

import type { Runtime } from "@postern/apiserver/runtime/clock";
import { type ApiResponse, afterResponse } from "@postern/apiserver/transport/api-response";

export type ClusterUse = {
  /** Streams and upgraded connections are in progress until they are closed. */
  during(answer: () => Promise<ApiResponse>): Promise<ApiResponse>;
  /** Milliseconds since the last request ended; 0 while one is in progress. */
  idleFor(): number;
};

export function createClusterUsage({ clock }: Pick<Runtime, "clock">): ClusterUse {
  let underWay = 0;
  let lastUsedAt = clock.elapsed();
  const end = (): void => {
    underWay--;
    lastUsedAt = clock.elapsed();
  };
  return {
    async during(answer) {
      underWay++;
      try {
        return afterResponse(await answer(), end);
      } catch (error) {
        end();
        throw error;
      }
    },
    idleFor: () => (underWay > 0 ? 0 : clock.elapsed() - lastUsedAt),
  };
}
