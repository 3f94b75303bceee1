// Projects: members, quotas, and a namespace.

import { projectFields } from "@postern/api/project";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { ObjectVisibility } from "@postern/apiserver/registry/visibility";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import type { ObjectLookup } from "../../../../foundation/lookup/object-lookup.ts";
import { type ManagementBudgets, shownUsage } from "../../../budgets/management-budgets.ts";
import type { PlatformEndpoint } from "../../../virtual-clusters/platform-endpoint.ts";
import { type ProjectStrategyDeps, projectStrategy } from "./strategy.ts";
import { projectClusters } from "./subresources/clusters.ts";
import { projectTemplates } from "./subresources/templates.ts";

export const projects = (
  deps: ProjectStrategyDeps & {
    readonly lookup: Pick<ObjectLookup, "project" | "cluster" | "clusters" | "clusterRole" | "virtualClusterTemplates">;
    readonly endpoint: Pick<PlatformEndpoint, "certificateAuthorityPem">;
    readonly visibility: ObjectVisibility;
    readonly budgets: Pick<ManagementBudgets, "ofProject">;
  },
): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "Project",
    plural: "projects",
    shortNames: ["proj"],
    namespaced: false,
    schema: kindSchema(projectFields.schema),
    hasStatus: true,
    subresources: [projectClusters(deps), projectTemplates(deps)],
    columns: [
      { name: "Display Name", type: "string", description: "Display name.", value: ".spec.displayName" },
      { name: "Phase", type: "string", description: "Phase of the project.", value: ".status.phase" },
      {
        name: "Stored",
        type: "string",
        description: "What the project stores outside its virtual clusters, and its limit.",
        value: ({ metadata }) => shownUsage(deps.budgets.ofProject(metadata.name ?? "")),
      },
      ageColumn,
    ],
    strategy: projectStrategy(deps),
    visibility: deps.visibility,
  });
