// POST /unwrap.

import type { Foundation } from "../../../foundation/foundation.ts";
import { allowAnybody, anonymousCallers } from "../../../foundation/http/anonymous-callers.ts";
import type { FeatureRoute } from "../../../foundation/http/feature-route.ts";
import type { AccessKeys } from "../../access-keys/feature.ts";
import type { CertificateLedger } from "../../certificates/certificate-ledger.ts";
import type { OneTimeDelivery } from "../feature.ts";
import { createUnwrapRoute, unwrapLimits } from "./unwrap-route.ts";

export const unwrapRoute = (
  base: Foundation,
  {
    delivery,
    keys,
    certificates,
  }: { readonly delivery: OneTimeDelivery; readonly keys: AccessKeys; readonly certificates: CertificateLedger },
): FeatureRoute => ({
  handle: createUnwrapRoute({ ...base, values: delivery.values, keys: keys.index, certificates }),
  authenticator: anonymousCallers,
  authorizer: allowAnybody("the wrapped value is the credential"),
  rateLimits: unwrapLimits(base),
});
