// POST /leaks.

import type { Foundation } from "../../../foundation/foundation.ts";
import { allowAnybody, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../../foundation/http/feature-route.ts";
import type { AccessKeys } from "../feature.ts";
import { createLeakReports, leakReportLimits } from "./leak-reports.ts";

export const leakRoute = (base: Foundation, { keys }: { readonly keys: AccessKeys }): FeatureRoute => ({
  handle: createLeakReports(base, keys),
  // With an identity, the audit log would contain credentials that the reporter sends.
  authenticator: anonymousCallers,
  authorizer: allowAnybody("leak reports need no credential"),
  rateLimits: leakReportLimits(base),
  isUrgent: () => true,
});
