// Controllers of projects.

import type { Controller, ControllerPort } from "@postern/apiserver/controllers/controller-port";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { KeyQuota } from "../../access-keys/key-quota.ts";
import { createProjectController } from "./project-controller.ts";
import { createProjectQuotas } from "./project-quotas.ts";

export function projectControllers(
  port: ControllerPort,
  { names, lookup, own, installed }: Foundation,
  { quota: keyQuota }: { readonly quota: KeyQuota },
): readonly Controller[] {
  const projects = own("Project");
  return [
    createProjectController(port, { names, projects, namespaces: installed("", "Namespace") }),
    createProjectQuotas(port, {
      names,
      projects,
      instances: [own("VirtualClusterInstance"), own("SpaceInstance")],
      accessKeys: own("OwnedAccessKey"),
      lookup,
      keyQuota,
    }),
  ];
}
