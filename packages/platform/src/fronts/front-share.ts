// The share of one front in the limits of the server: each counts by itself, and together they allow what is configured.

import type { Configuration } from "../foundation/config/configuration.ts";

/** Times its part of the connections that a front may have. */
const ROOM = 1.5;

/** The configuration of each of the fronts. A limit of 0 is none, and stays so; no other becomes less than 1. */
export function shareOf(configuration: Configuration): Configuration {
  const { threads: fronts, rateLimits, connections } = configuration;
  if (fronts === 1) return configuration;
  const part = (whole: number): number => (whole === 0 ? 0 : Math.max(Math.ceil(whole / fronts), 1));
  /** A rate may be less than 1 a second; its burst, by default twice the rate, may not. */
  const burst = (given: number, qps: number): number => part(given === 0 ? 2 * qps : given);
  /** The kernel draws a front for each connection: one may get more than its part. */
  const roomy = (whole: number): number => Math.min(Math.ceil((whole * ROOM) / fronts), whole);
  return {
    ...configuration,
    maxRequestsInflight: part(configuration.maxRequestsInflight),
    maxMutatingRequestsInflight: part(configuration.maxMutatingRequestsInflight),
    rateLimits: {
      ...rateLimits,
      keyQPS: rateLimits.keyQPS / fronts,
      keyBurst: burst(rateLimits.keyBurst, rateLimits.keyQPS),
      sourceQPS: rateLimits.sourceQPS / fronts,
      sourceBurst: burst(rateLimits.sourceBurst, rateLimits.sourceQPS),
      failedLoginsPerMinute: part(rateLimits.failedLoginsPerMinute),
    },
    connections: {
      ...connections,
      max: roomy(connections.max),
      maxStrangers: roomy(connections.maxStrangers),
      maxHandshakes: roomy(connections.maxHandshakes),
    },
  };
}
