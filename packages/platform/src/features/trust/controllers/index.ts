// Controllers of trust rules.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { Trust } from "../feature.ts";
import { createTrustRuleController } from "./trust-rule-controller.ts";

export const trustControllers = (
  port: ControllerPort,
  { own }: Foundation,
  { trust }: { readonly trust: Trust },
): readonly Controller[] =>
  ["ClusterTrustRule", "TrustRule"].map((kind) => createTrustRuleController(port, own(kind), trust));
