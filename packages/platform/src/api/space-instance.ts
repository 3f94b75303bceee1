// The fields of SpaceInstances.

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { keptInstallations, keptMetadata, keptObject } from "./kept-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";

const PHASES = ["Pending", "Ready", "Sleeping", "Failed"] as const;

const templateFields = s.object({
  metadata: s
    .object({
      labels: s.map(s.string()).describe("Labels for the namespace."),
      annotations: s.map(s.string()).describe("Annotations for the namespace."),
    })
    .describe("Metadata for the namespace."),
  ...keptInstallations,
  access: keptObject(
    "Who has which ClusterRole in the namespace; spec.extraAccessRules of the instance is what counts.",
  ),
  instanceTemplate: keptMetadata("For the instance."),
  objects: s.string().describe("Manifests for the namespace, as YAML text. Kept as they are."),
});

export const spaceInstanceFields = s
  .object({
    spec: s
      .object({
        displayName: s.string().describe("Name for people. Absent: the name of the object."),
        description: s.string().describe("What the space is for."),
        owner: ownerFields.describe("Who it belongs to. Absent on create: the caller."),
        templateRef: s
          .object({
            name: s.string().describe("Name of the template."),
            version: s.string().describe("Version of the template. Absent: the newest."),
            syncOnce: s.boolean().describe("True: later versions of the template change nothing."),
          })
          .describe("The template that it was made from. Kept as it is: this release has no templates."),
        template: templateFields.describe("What the namespace is made of."),
        clusterRef: s
          .object({
            cluster: s.string().describe("Name of the cluster that the namespace is in."),
            namespace: s.string().describe("Name of the namespace there."),
          })
          .describe("Where it is. What is absent on create is filled in by the server. Cannot be changed afterwards."),
        parameters: s.string().describe("Values for the parameters of the template, as YAML text."),
        extraAccessRules: s
          .list(
            s.object({
              users: s.list(s.string()).describe("Names of the users it is for; * is every user."),
              teams: s.list(s.string()).describe("Names of the teams it is for."),
              clusterRole: s.string().describe("The ClusterRole that they have in the namespace."),
            }),
          )
          .describe("Who has which ClusterRole in the namespace, beside what the project gives."),
        access: s.list(accessRuleFields).describe("Who else may do what with the instance."),
      })
      .describe("The space as it should be."),
    status: s
      .object({
        phase: s.string({ enum: PHASES }).describe("Pending, Ready, Sleeping or Failed. Filled in by the server."),
        reason: s.string().describe("Why it is not ready, in one word. Filled in by the server."),
        message: s.string().describe("Why it is not ready, for people to read. Filled in by the server."),
        conditions: conditionsField,
        space: templateFields.describe("The template with everything filled in."),
        spaceObjects: s.anyObject().describe("What has been made in the namespace."),
        ignoreReconciliation: s.boolean().describe("True: the server leaves the space as it is."),
        sleepModeConfig: s.anyObject().describe("When it sleeps."),
        canUse: s.boolean().describe("Whether the caller may use it. Only with ?extended=true."),
        canUpdate: s.boolean().describe("Whether the caller may change it. Only with ?extended=true."),
      })
      .describe("The space as it is."),
  })
  .describe("A namespace of a connected cluster that is handed to a project.");

export type SpaceInstance = KindOf<typeof spaceInstanceFields>;
