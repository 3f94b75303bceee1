// The kinds Project, ProjectSecret and SharedSecret, and the namespaces of projects.

import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Foundation } from "../../../foundation/foundation.ts";
import type { Authorization } from "../../authorization/feature.ts";
import type { Budgets } from "../../budgets/feature.ts";
import type { Directory } from "../../directory/directory.ts";
import type { PlatformEndpoint } from "../../virtual-clusters/platform-endpoint.ts";
import { managementNamespaces } from "../management-namespaces.ts";
import { createProjectNamespace } from "../project-namespaces.ts";
import { projectSecrets } from "./project-secrets/index.ts";
import { projects } from "./projects/index.ts";
import { sharedSecrets } from "./shared-secrets/index.ts";

export type ProjectKindsNeeds = {
  readonly directory: Directory;
  readonly authorization: Authorization;
  readonly budgets: Budgets;
  readonly endpoint: PlatformEndpoint;
};

export function projectKinds(
  { configuration, names, lookup, runtime, installed }: Foundation,
  { directory, authorization, budgets, endpoint }: ProjectKindsNeeds,
): { readonly [kind in "projects" | "projectSecrets" | "sharedSecrets" | "namespaces"]: ResourceDefinition } {
  const { authorizer, checkMembership, visibilityOf } = authorization;
  return {
    projects: projects({
      names,
      lookup,
      directory,
      authorizer,
      checkMembership,
      endpoint,
      budgets: budgets.management,
      createNamespace: createProjectNamespace({ runtime }, names, () => installed("", "Namespace")),
      hasRecordings: configuration.sessionRecording.dir !== "",
      visibility: visibilityOf("projects"),
    }),
    projectSecrets: projectSecrets(names),
    sharedSecrets: sharedSecrets(names),
    namespaces: managementNamespaces({ names, lookup }),
  };
}
