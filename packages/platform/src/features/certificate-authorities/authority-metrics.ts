// Metrics of CAs: when the first one expires, and for how long a rotation has been prepared.

import { Gauge } from "@postern/apiserver/metrics/gauge";
import type { ServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { PLATFORM, type RotationStates } from "./rotation-states.ts";

/** When the first CA of embedded clusters expires, in milliseconds since the epoch, as the server that runs the controllers has found. */
export type AuthorityEnds = { clusters: number | undefined };

export function gaugeAuthorities(
  { registry }: Pick<ServerMetrics, "registry">,
  rotations: Pick<RotationStates, "preparedSince">,
): AuthorityEnds {
  const registers = [registry];
  const ends: AuthorityEnds = { clusters: undefined };
  new Gauge({
    name: "postern_cluster_authority_expiration_timestamp_seconds",
    help: "When the first CA of embedded virtual clusters expires, in seconds since the epoch; from the server that runs the controllers",
    registers,
    collect() {
      this.reset();
      if (ends.clusters !== undefined) this.set(Math.floor(ends.clusters / 1000));
    },
  });
  new Gauge({
    name: "postern_authority_rotation_prepared_timestamp_seconds",
    help: "Since when the oldest rotation of a CA that is neither complete nor aborted is prepared, in seconds since the epoch, by authority: platform or clusters",
    labelNames: ["authority"] as const,
    registers,
    collect() {
      this.reset();
      const show = (authority: string, at: number | undefined): void => {
        if (at !== undefined) this.set({ authority }, Math.floor(at / 1000));
      };
      show(
        "platform",
        rotations.preparedSince((id) => id === PLATFORM),
      );
      show(
        "clusters",
        rotations.preparedSince((id) => id !== PLATFORM),
      );
    },
  });
  return ends;
}
