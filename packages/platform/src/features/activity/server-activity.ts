// Follows the requests of all surfaces of a server: counts by minute and by key, and the newest changes.

import type { ObservedRequest, RequestObserver } from "@postern/apiserver/chain/request-observer";
import type { Clock } from "@postern/apiserver/runtime/clock";
import { FrequentKeys } from "./frequent-keys.ts";
import { MinuteRing } from "./minute-ring.ts";
import { RecentCertificates } from "./recent-certificates.ts";
import { RecentChanges } from "./recent-changes.ts";

const DAY_MINUTES = 1_440;
const METRICS_PATH = "/metrics";

export type ServerActivity = {
  readonly observer: RequestObserver;
  readonly minutes: MinuteRing;
  readonly used: FrequentKeys;
  readonly refused: FrequentKeys;
  readonly changes: RecentChanges;
  readonly certificates: RecentCertificates;
  /** Watches that are open now. */
  openWatches(): number;
  /** The last answer of `/metrics`, in milliseconds since the epoch; undefined since the start. */
  metricsReadAt(): number | undefined;
};

export function createServerActivity(clock: Clock): ServerActivity {
  const minutes = new MinuteRing(DAY_MINUTES, clock.now());
  const used = new FrequentKeys();
  const refused = new FrequentKeys();
  const changes = new RecentChanges();
  const certificates = new RecentCertificates();
  let watches = 0;
  let metricsReadAt: number | undefined;
  return {
    minutes,
    used,
    refused,
    changes,
    certificates,
    openWatches: () => watches,
    metricsReadAt: () => metricsReadAt,
    observer: {
      answered(call, status) {
        const now = clock.now();
        minutes.add("requests", now);
        const id = call.credential?.id ?? call.refusedCredentialId;
        if (id !== undefined) used.add(id, now);
        certificates.note(call);
        if (isRefusal(status)) {
          minutes.add("refused", now);
          if (id !== undefined) refused.add(id, now);
        } else if (status >= 500) minutes.add("failed", now);
        else if (status < 300) {
          if (call.info.path === METRICS_PATH) metricsReadAt = now;
          changes.note(call, now);
        }
        if (isWatch(call, status)) watches++;
        minutes.raise("watches", watches, now);
      },
      closed(call, status) {
        if (isWatch(call, status)) watches--;
      },
    },
  };
}

/** Without a valid credential, without a right, or over a limit. */
const isRefusal = (status: number): boolean => status === 401 || status === 403 || status === 429;

const isWatch = ({ info, innerRequest, isLongRunning }: ObservedRequest, status: number): boolean =>
  isLongRunning && status === 200 && (innerRequest?.info ?? info).verb === "watch";
