// Controllers of projects.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { KeyQuota } from "../../access-keys/key-quota.ts";
import { createProjectController } from "./project-controller.ts";
import { createProjectQuotas } from "./project-quotas.ts";

export const projectControllers = (
  port: ControllerPort,
  base: Foundation,
  { quota }: { readonly quota: KeyQuota },
): readonly Controller[] => [createProjectController(port, base), createProjectQuotas(port, base, quota)];
