// POST /leaks.

import type { Foundation } from "../../../foundation/foundation.ts";
import { allowAnybody, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../../foundation/http/feature-route.ts";
import type { AccessKeys } from "../feature.ts";
import { createLeakReports, leakReportLimits, type ReportedValue } from "./leak-reports.ts";

export const leakRoute = (
  base: Foundation,
  { keys, dealWithOther }: { readonly keys: AccessKeys; readonly dealWithOther: ReportedValue },
): FeatureRoute => ({
  handle: createLeakReports(base, keys, dealWithOther),
  // With an identity, the audit log would contain credentials that the reporter sends.
  authenticator: anonymousCallers,
  authorizer: allowAnybody("leak reports need no credential"),
  rateLimits: leakReportLimits(base),
  isUrgent: () => true,
});
