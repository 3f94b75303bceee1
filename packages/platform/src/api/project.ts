// The fields of Projects.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { keptMetadata, keptNames, keptObject, keptString } from "./kept-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";

const memberFields = s.object({
  kind: s
    .string({ enum: ["User", "Team"] })
    .required()
    .describe("What the member is: User or Team."),
  group: s.string().describe("API group of the kind. Users and teams of the platform are meant, whatever it says."),
  name: s.string({ minLength: 1 }).required().describe("Name of the user or team."),
  clusterRole: s
    .string({ minLength: 1 })
    .required()
    .describe("The ClusterRole that the member has in the project, such as the platform's project-user."),
});

const allowedClusterFields = s.object({
  name: s.string({ minLength: 1 }).required().describe("Name of a cluster; * is every cluster."),
});

const allowedTemplateFields = s.object({
  kind: s.string().describe("Kind of the template, such as VirtualClusterTemplate."),
  group: s.string().describe("API group of the template."),
  name: s.string().describe("Name of the template; * is every template."),
  isDefault: s.boolean().describe("True: the template that is proposed first."),
});

const namespacePatternFields = s.object({
  space: s.string().describe("Pattern for the namespaces of spaces."),
  virtualCluster: s.string().describe("Pattern for the namespaces of virtual clusters."),
});

const quotasFields = s.object({
  project: s.map(s.string()).describe("Amounts for the whole project, by resource."),
  user: s.map(s.string()).describe("Amounts for each of its users, by resource."),
});

export const projectFields = s
  .object({
    spec: s
      .object({
        displayName: s.string().describe("Name for people. Absent: the name of the object."),
        description: s.string().describe("What the project is for."),
        owner: ownerFields.describe("Who administers the project. Absent on create: the caller."),
        members: s
          .list(memberFields)
          .describe("Who may do what in the project: manage, use, or see what is in its namespace."),
        allowedClusters: s
          .list(allowedClusterFields)
          .describe(
            "Clusters that instances of the project may be placed in. Absent or empty: the built-in one alone.",
          ),
        quotas: quotasFields.describe(
          "What the project may have: virtualclusterinstances and spaceinstances count those; virtualcluster.objects and virtualcluster.bytes limit each built-in virtual cluster. Others are kept, and not enforced.",
        ),
        access: s
          .list(accessRuleFields)
          .describe("Who else may do what with the project. Kept as it is, without effect: members count."),
        allowedTemplates: s
          .list(allowedTemplateFields)
          .describe("Templates that instances may be made from. Kept as they are: this release has no templates."),
        requireTemplate: s
          .object({ disabled: s.boolean().describe("True: instances need no template.") })
          .describe("Whether instances need a template. Kept as it is, without effect: this release has no templates."),
        requirePreset: s
          .object({ disabled: s.boolean().describe("True: instances need no preset.") })
          .describe("Whether instances need a preset. Kept as it is, without effect."),
        namespacePattern: namespacePatternFields.describe(
          "How namespaces in connected clusters are named. Kept as it is, without effect: spec.clusterRef names them.",
        ),
        namespaceTemplate: keptMetadata("For the namespace of the project."),
        allowedRunners: keptNames("Runners of the project."),
        allowedNodeTypes: keptNames("Kinds of machines that virtual clusters may have."),
        allowedNodeProfiles: keptNames("Profiles of machines that virtual clusters may have."),
        defaultNodeProfile: keptString("The profile of machines that counts where none is named."),
        argoCD: keptObject("An Argo CD for the project."),
        vault: keptObject("A Vault whose secrets the project gets."),
        rancher: keptObject("A project of Rancher."),
      })
      .describe("The project as it should be."),
    status: s
      .object({
        phase: s.string().describe("Pending, Ready, Failed or Terminating. Filled in by the server."),
        message: s.string().describe("What keeps it from being ready. Filled in by the server."),
        conditions: conditionsField,
        quotas: keptObject("How much of the quotas is used, as others have written it."),
      })
      .describe("The project as it is."),
  })
  .describe(
    "A group of virtual clusters and spaces, and of the people who work with them. It has a namespace of its own.",
  );

export type Project = KindOf<typeof projectFields>;
export type ProjectStatus = Infer<typeof projectFields>["status"];
