// The fields of Projects.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "../conditions.ts";
import { ownerFields } from "../owner.ts";

const memberFields = s.object({
  kind: s
    .string({ enum: ["User", "Team"] })
    .required()
    .describe("What the member is: User or Team."),
  name: s.string({ minLength: 1 }).required().describe("Name of the user or team."),
  clusterRole: s
    .string({ minLength: 1 })
    .required()
    .describe("The ClusterRole that the member has in the project, such as the platform's project-user."),
});

const allowedClusterFields = s.object({
  name: s.string({ minLength: 1 }).required().describe("Name of a cluster; * is every cluster."),
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
        quotas: quotasFields.describe("Amounts that the project is meant to keep to. Kept as they are; not enforced."),
      })
      .describe("The project as it should be."),
    status: s
      .object({
        phase: s.string().describe("Pending, Ready, Failed or Terminating. Filled in by the server."),
        message: s.string().describe("What keeps it from being ready. Filled in by the server."),
        conditions: conditionsField,
      })
      .describe("The project as it is."),
  })
  .describe(
    "A group of virtual clusters and spaces, and of the people who work with them. It has a namespace of its own.",
  );

export type Project = KindOf<typeof projectFields>;
export type ProjectStatus = Infer<typeof projectFields>["status"];
