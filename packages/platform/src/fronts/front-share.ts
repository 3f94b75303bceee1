// The share of one front in the limits of the server: each counts by itself, and together they allow what is configured.

import type { Configuration } from "../foundation/config/configuration.ts";

/** The configuration of each of the fronts. A limit of 0 is none, and stays so; no other becomes less than 1. */
export function shareOf(configuration: Configuration): Configuration {
  const { threads: fronts, rateLimits, connections } = configuration;
  if (fronts === 1) return configuration;
  const part = (whole: number): number => (whole === 0 ? 0 : Math.max(Math.ceil(whole / fronts), 1));
  /** A rate may be less than 1 a second; its burst, by default twice the rate, may not. */
  const burst = (given: number, qps: number): number => part(given === 0 ? 2 * qps : given);
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
      max: part(connections.max),
      maxStrangers: part(connections.maxStrangers),
      maxHandshakes: part(connections.maxHandshakes),
    },
  };
}
