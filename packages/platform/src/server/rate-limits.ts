// Rate limits and fair shares from the configuration, and which requests have reserved places: revocations, and those of administrators.

import type { PlatformNames } from "@postern/api/platform-names";
import { isMaster } from "@postern/apiserver/authorization/masters-authorizer";
import type { RateLimits } from "@postern/apiserver/chain/with-rate-limit";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { FairShareLimits } from "@postern/apiserver/limits/fair-shares";
import { createRateLimiter, type RateLimiter } from "@postern/apiserver/limits/rate-limiter";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { parseIpNetwork } from "@postern/apiserver/transport/addresses/ip-networks";
import type { TrustedProxies } from "@postern/apiserver/transport/addresses/trusted-proxies";
import type { TransportLimits } from "@postern/apiserver/transport/transport-limits";
import type { MemoryBudgets } from "../features/budgets/memory-limit.ts";
import { isInsideIdentity } from "../features/proxy/routes/proxy-authenticators.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import { partOf, rateShare, type ThreadShare } from "../foundation/config/thread-share.ts";

export function rateLimitsOf({ rateLimits }: Configuration, share: ThreadShare, clock: Clock): RateLimits {
  const { keyQPS, keyBurst, sourceQPS, sourceBurst } = rateLimits;
  const perSource = limiterOf(sourceQPS, sourceBurst, share, clock);
  const perCredential = limiterOf(keyQPS, keyBurst, share, clock);
  return {
    ...(perSource === undefined ? {} : { perSource }),
    ...(perCredential === undefined ? {} : { perCredential }),
  };
}

/** How many wrong credentials a source address may send; undefined: any number. */
export const failedLoginsOf = (
  { rateLimits: { failedLoginsPerMinute } }: Configuration,
  share: ThreadShare,
  clock: Clock,
): RateLimiter | undefined => limiterOf(failedLoginsPerMinute / 60, failedLoginsPerMinute, share, clock);

export function fairSharesOf(
  configuration: Configuration,
  { bodyBytes }: Pick<MemoryBudgets, "bodyBytes">,
  share: ThreadShare,
): FairShareLimits {
  const { maxRequestsInflight: readOnly, maxMutatingRequestsInflight: mutating, fairness } = configuration;
  return {
    places: {
      get readOnly() {
        return partOf(readOnly, share);
      },
      get mutating() {
        return partOf(mutating, share);
      },
      get urgent() {
        // No bound on either leaves none on what is urgent.
        return readOnly === 0 || mutating === 0 ? 0 : this.readOnly + this.mutating;
      },
    },
    userShare: fairness.userSharePercent / 100,
    keyShare: fairness.keySharePercent / 100,
    queueMs: fairness.queueSeconds * 1000,
    bodyBytes,
  };
}

export const transportLimitsOf = (
  { connections, watchBacklog }: Configuration,
  { backlogBytes, unreadBytes }: Pick<MemoryBudgets, "backlogBytes" | "unreadBytes">,
): Partial<TransportLimits> => ({
  maxConnections: connections.max,
  maxStrangers: connections.maxStrangers,
  maxHandshakes: connections.maxHandshakes,
  sourceShare: connections.sharePercent / 100,
  handshakeTimeoutMs: connections.handshakeTimeoutSeconds * 1000,
  watchBacklog: {
    perWatch: Math.min(watchBacklog.perWatchMiB << 20, backlogBytes),
    perConnection: Math.min(watchBacklog.perConnectionMiB << 20, backlogBytes),
    total: backlogBytes,
  },
  unreadAnswerBytes: unreadBytes,
  strangerTimeoutMs: connections.strangerTimeoutSeconds * 1000,
});

/** Undefined where none is configured. */
export function trustedProxiesOf({ trustedProxies }: Configuration): TrustedProxies | undefined {
  const { networks, header, sendProxyProtocol } = trustedProxies;
  if (networks.length === 0) return undefined;
  return { networks: networks.flatMap((text) => parseIpNetwork(text) ?? []), header, sendProxyProtocol };
}

/** A rate of 0 is no limit, a burst of 0 twice the rate. */
const limiterOf = (qps: number, burst: number, share: ThreadShare, clock: Clock): RateLimiter | undefined =>
  qps === 0 ? undefined : createRateLimiter(rateShare({ qps, burst: burst === 0 ? 2 * qps : burst }, share), clock);

const WITHDRAWING_VERBS: readonly string[] = ["update", "patch", "delete", "deletecollection"];
/** Changing or deleting one of these can revoke permissions of a key. */
const KEYS_AND_OWNERS: readonly string[] = ["ownedaccesskeys", "accesskeys", "users", "teams"];

/** Requests with places of their own in the flow control: those that take a key's power away, and those of administrators. */
export function createUrgentCheck({
  managementGroup,
  adminsGroup,
}: PlatformNames): (context: RequestContext) => boolean {
  return ({ user, caller = user, credential, info }) => {
    // Groups in a certificate of a virtual cluster are what its administrators have written there.
    if (caller.groups.includes(adminsGroup) || isMaster(caller)) return !isInsideIdentity({ credential });
    if (info.apiGroup !== managementGroup || !KEYS_AND_OWNERS.includes(info.resource)) return false;
    // A key is rotated by creating something below it.
    return WITHDRAWING_VERBS.includes(info.verb) || (info.verb === "create" && info.subresource !== "");
  };
}
