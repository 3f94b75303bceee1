// The controller of kubeconfig generators.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import { createGeneratorController } from "./generator-controller.ts";
import type { GeneratorNeeds } from "./generator-needs.ts";

export const kubeconfigGeneratorControllers = (
  port: ControllerPort,
  base: Foundation,
  needs: GeneratorNeeds,
): readonly Controller[] => [createGeneratorController(port, base, needs)];
