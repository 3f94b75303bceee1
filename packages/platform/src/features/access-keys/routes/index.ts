// POST /leaks.

import type { Foundation } from "../../../foundation/foundation.ts";
import { allowAnybody, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../../foundation/http/feature-route.ts";
import type { AccessKeys } from "../feature.ts";
import { createLeakReports, leakReportLimits, type ReportedValue } from "./leak-reports.ts";

/** Takes reports of found keys, without a credential. */
const LEAKS_PATH = "/leaks";

export const leakRoute = (
  base: Foundation,
  { keys, reportOther }: { readonly keys: AccessKeys; readonly reportOther: ReportedValue },
): FeatureRoute => ({
  takes: (path) => path === LEAKS_PATH,
  handle: createLeakReports(base, keys, reportOther),
  // With an identity, the audit log would contain credentials that the reporter sends.
  authenticator: anonymousCallers,
  authorizer: allowAnybody("leak reports need no credential"),
  rateLimits: leakReportLimits(base),
  isUrgent: () => true,
});
