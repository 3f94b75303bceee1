// Parts of a platform without a server around it: keys of one fixed secret, and no records of what happens.

import { silentLogger } from "@postern/apiserver/logging/logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { UNAUDITED } from "@postern/apiserver/testing/unaudited";
import { memoryBudgets } from "../features/budgets/memory-limit.ts";
import { defaultConfiguration } from "../foundation/config/configuration.ts";
import { createFixedKeyRing } from "../foundation/encryption/key-ring.ts";
import { deriveServerKeys } from "../foundation/store/server-keys.ts";
import type { PlatformParts } from "../server/compose.ts";

const SECRET = new Uint8Array(32).fill(7);

export const TEST_MEMORY = memoryBudgets(4 * 2 ** 30, { bodyBytes: 2 ** 28, backlogBytes: 2 ** 27 });

/** At `https://platform.test`. Faults of work that no request waits for are ignored. */
export const platformParts = (
  parts: Pick<PlatformParts, "storage" | "cache" | "runtime" | "signal"> & Partial<PlatformParts>,
): PlatformParts => ({
  configuration: defaultConfiguration("/"),
  keyRing: createFixedKeyRing(SECRET),
  metrics: createServerMetrics({ withProcessMetrics: false }),
  onError: () => {},
  serverKeys: deriveServerKeys(SECRET),
  memory: TEST_MEMORY,
  endpoint: { url: () => "https://platform.test", isOwnName: () => false, certificateAuthorityPem: undefined },
  logger: silentLogger,
  controllerAudit: UNAUDITED,
  mayLead: true,
  ...parts,
});
