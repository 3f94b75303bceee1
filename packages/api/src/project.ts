// The fields of Projects.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { EMBEDDED_CLUSTER } from "./cluster.ts";
import { conditionsField } from "./conditions.ts";
import { ignoredMetadata, ignoredNames, ignoredObject, ignoredString } from "./ignored-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";
import { sessionRecordingFields } from "./session-recording.ts";

const memberFields = s.object({
  kind: s
    .string({ enum: ["User", "Team"] })
    .required()
    .describe("Kind of the member: User or Team."),
  group: s.string().describe("API group of the member. Ignored: members are users and teams of the platform."),
  name: s.string({ minLength: 1 }).required().describe("Name of the user or team."),
  clusterRole: s
    .string({ minLength: 1 })
    .required()
    .describe("ClusterRole that the member gets in the project, such as the platform's project-user."),
});

const allowedClusterFields = s.object({
  name: s.string({ minLength: 1 }).required().describe("Name of a cluster; * for all."),
});

const allowedTemplateFields = s.object({
  kind: s.string().describe("Kind of the template, such as VirtualClusterTemplate."),
  group: s.string().describe("API group of the template."),
  name: s.string().describe("Name of the template; * for all."),
  isDefault: s.boolean().describe("Whether this is the default template."),
});

const namespacePatternFields = s.object({
  space: s.string().describe("Pattern for the namespaces of spaces."),
  virtualCluster: s.string().describe("Pattern for the namespaces of virtual clusters."),
});

const quotasFields = s.object({
  project: s.map(s.string()).describe("Quota of the whole project, by resource."),
  user: s.map(s.string()).describe("Quota of each user and team that owns something in the project, by resource."),
});

export const projectFields = s
  .object({
    spec: s
      .object({
        displayName: s.string().describe("Display name. Defaults to the name of the object."),
        description: s.string().describe("What the project is for."),
        owner: ownerFields.describe("User or team that administers the project. Defaults to the caller."),
        members: s.list(memberFields).describe("Users and teams in the project, each with a ClusterRole."),
        allowedClusters: s
          .list(allowedClusterFields)
          .describe("Clusters that instances of the project can be placed in. Defaults to the built-in cluster only."),
        allowedSourceRanges: s
          .list(s.string({ maxLength: 64 }))
          .describe(
            "IP addresses and networks, such as 10.20.0.0/16 or 2001:db8::/32, from which the virtual clusters and spaces of the project may be used, with whatever credential, and from which its members may use the project. Requests of users with the verb restrict on the project that are not for a cluster are allowed from anywhere. Unset: from anywhere.",
          ),
        certificateEndpoint: s
          .string({ enum: ["Cluster", "Platform"] })
          .describe(
            "Where client certificates for connected and external virtual clusters lead. Platform: through the platform, where they are revoked at once; others are not issued. Cluster, the default: to the cluster's own address, unless the request chooses. Changing it requires the verb restrict on projects.",
          ),
        sessionRecording: sessionRecordingFields.describe(
          "Recording of exec and attach in the connected and external virtual clusters and spaces of the project. The strictest setting of the project and of the cluster holds. Changing it requires the verb restrict on projects.",
        ),
        quotas: quotasFields.describe(
          "Quotas. virtualclusterinstances, spaceinstances and ownedaccesskeys limit their number, in the project and for each owner; virtualcluster.objects and virtualcluster.bytes of the project limit each built-in virtual cluster; storage.objects and storage.bytes limit what the project has outside its virtual clusters. Others are stored, but not enforced.",
        ),
        access: s
          .list(accessRuleFields)
          .describe("Additional access rules for the project. Stored, but has no effect: use spec.members."),
        allowedTemplates: s
          .list(allowedTemplateFields)
          .describe("Templates of virtual clusters that instances of the project may refer to. Defaults to all."),
        requireTemplate: s
          .object({ disabled: s.boolean().describe("Whether instances can be created without a template.") })
          .describe(
            "Whether new virtual clusters require spec.templateRef: disabled: false requires it, except for users with the verb restrict on the project. Defaults to no requirement.",
          ),
        requirePreset: s
          .object({ disabled: s.boolean().describe("Whether instances can be created without a preset.") })
          .describe("Whether instances require a preset. Stored, but has no effect."),
        namespacePattern: namespacePatternFields.describe(
          "Name patterns for namespaces in connected clusters. Stored, but has no effect: use spec.clusterRef.",
        ),
        namespaceTemplate: ignoredMetadata("For the namespace of the project."),
        allowedRunners: ignoredNames("Runners of the project."),
        allowedNodeTypes: ignoredNames("Kinds of machines that virtual clusters may have."),
        allowedNodeProfiles: ignoredNames("Profiles of machines that virtual clusters may have."),
        defaultNodeProfile: ignoredString("Default profile of machines."),
        argoCD: ignoredObject("An Argo CD for the project."),
        vault: ignoredObject("A Vault whose secrets the project gets."),
        rancher: ignoredObject("A project of Rancher."),
      })
      .describe("Desired state of the project."),
    status: s
      .object({
        phase: s.string().describe("Pending, Ready, Failed or Terminating. Set by the server."),
        message: s.string().describe("Human-readable message about why the project is not ready. Set by the server."),
        conditions: conditionsField,
        quotas: s
          .object({
            project: s
              .object({
                limit: s.map(s.string()).describe("Enforced limits, by resource."),
                used: s.map(s.string()).describe("How many there are, for resources that are counted."),
                clusters: ignoredObject("Usage by connected cluster."),
              })
              .describe("Quota of the whole project."),
            user: s
              .object({
                limit: s.map(s.string()).describe("Enforced limits, by resource."),
                used: s
                  .object({
                    users: s.map(s.map(s.string())).describe("How many each user owns, by user and resource."),
                    teams: s.map(s.map(s.string())).describe("How many each team owns, by team and resource."),
                  })
                  .describe("Usage of each owner."),
                clusters: ignoredObject("Usage by connected cluster."),
              })
              .describe("Quota of each user and team that owns something in the project."),
          })
          .describe("Usage of the quotas. Updated at most once per second. Set by the server."),
      })
      .describe("Observed state of the project."),
  })
  .describe(
    "A project groups virtual clusters and spaces with the users and teams that may use them. Each project has its own namespace.",
  );

export type Project = KindOf<typeof projectFields>;
export type ProjectMember = Infer<typeof memberFields>;
export type ProjectStatus = Infer<typeof projectFields>["status"];

const EVERY_CLUSTER = "*";

/** Whether instances of the project may be placed in the cluster. Without a list it is the built-in cluster alone. A star counts only as the whole name. */
export function allowsCluster({ spec }: Project, cluster: string): boolean {
  const allowed = spec?.allowedClusters ?? [];
  if (allowed.length === 0) return cluster === EMBEDDED_CLUSTER;
  return allowed.some(({ name }) => name === EVERY_CLUSTER || name === cluster);
}
