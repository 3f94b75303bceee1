// POST /leaks.

import type { Foundation } from "../../../foundation/foundation.ts";
import { allowAnybody, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../../foundation/http/feature-route.ts";
import type { AccessKeys } from "../feature.ts";
import { createLeakReports, leakReportLimits } from "./leak-reports.ts";

export const leakRoute = (
  { configuration, names, runtime, own, signal, onError }: Foundation,
  { keys }: { readonly keys: AccessKeys },
): FeatureRoute => ({
  handle: createLeakReports({
    names,
    keys: keys.index,
    sealedRecords: keys.sealedRecords,
    secrets: keys.secrets,
    comparisons: keys.comparisons,
    policy: configuration.accessKeys.leaked,
    accessKeys: () => own("OwnedAccessKey"),
    recordEvent: keys.recordEvent,
    onReport: keys.metrics.leakReported,
    runtime,
    onError,
    signal,
  }),
  // With an identity, the audit log would contain credentials that the reporter sends.
  authenticator: anonymousCallers,
  authorizer: allowAnybody("leak reports need no credential"),
  rateLimits: leakReportLimits(runtime.clock),
  isUrgent: () => true,
});
