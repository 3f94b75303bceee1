// The fields of SpaceInstances.

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { ignoredInstallations, ignoredMetadata, ignoredObject } from "./ignored-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";

const PHASES = ["Pending", "Ready", "Sleeping", "Failed"] as const;

const templateFields = s.object({
  metadata: s
    .object({
      labels: s.map(s.string()).describe("Labels for the namespace."),
      annotations: s.map(s.string()).describe("Annotations for the namespace."),
    })
    .describe("Metadata for the namespace."),
  ...ignoredInstallations,
  access: ignoredObject("ClusterRoles in the namespace. Has no effect: use spec.extraAccessRules of the instance."),
  instanceTemplate: ignoredMetadata("For the instance."),
  objects: s.string().describe("Manifests for the namespace, as YAML text. Stored, but has no effect."),
});

export const spaceInstanceFields = s
  .object({
    spec: s
      .object({
        displayName: s.string().describe("Display name. Defaults to the name of the object."),
        description: s.string().describe("What the space is for."),
        owner: ownerFields.describe("User or team that owns the space. Defaults to the caller."),
        templateRef: s
          .object({
            name: s.string().describe("Name of the template."),
            version: s.string().describe("Version of the template. Defaults to the latest."),
            syncOnce: s.boolean().describe("Whether the template is applied only once."),
          })
          .describe(
            "Template that the instance was created from. Stored, but has no effect: this release has no templates.",
          ),
        template: templateFields.describe("Template for the namespace."),
        clusterRef: s
          .object({
            cluster: s.string().describe("Name of the cluster."),
            namespace: s.string().describe("Name of the namespace in the cluster."),
          })
          .describe("Cluster and namespace of the space. The server fills in what is unset at creation. Immutable."),
        parameters: s.string().describe("Template parameters, as YAML."),
        extraAccessRules: s
          .list(
            s.object({
              users: s.list(s.string()).describe("Users that the rule applies to; * for all."),
              teams: s.list(s.string()).describe("Teams that the rule applies to."),
              clusterRole: s.string().describe("ClusterRole that they get in the namespace."),
            }),
          )
          .describe("Additional ClusterRoles in the namespace, for users and teams."),
        access: s.list(accessRuleFields).describe("Additional access rules for the instance."),
      })
      .describe("Desired state of the space."),
    status: s
      .object({
        phase: s.string({ enum: PHASES }).describe("Pending, Ready, Sleeping or Failed. Set by the server."),
        reason: s.string().describe("Machine-readable reason why it is not ready. Set by the server."),
        message: s.string().describe("Human-readable message about why it is not ready. Set by the server."),
        conditions: conditionsField,
        space: templateFields.describe("The template with its parameters resolved."),
        spaceObjects: s.anyObject().describe("Objects that were created in the namespace."),
        ignoreReconciliation: s.boolean().describe("Whether the server stops reconciling the space."),
        sleepModeConfig: s.anyObject().describe("Sleep mode settings."),
        canUse: s.boolean().describe("Whether you may use it. Returned only with ?extended=true."),
        canUpdate: s.boolean().describe("Whether you may update it. Returned only with ?extended=true."),
      })
      .describe("Observed state of the space."),
  })
  .describe("A space: a namespace of a connected cluster that belongs to a project.");

export type SpaceInstance = KindOf<typeof spaceInstanceFields>;
