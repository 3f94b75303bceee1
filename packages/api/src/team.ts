// The fields of a team: users that permissions are granted to together.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { description, displayName, imagePullSecrets } from "./display-fields.ts";
import { ignoredNames } from "./ignored-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";

const fields = s
  .object({
    spec: s
      .object({
        displayName,
        description,
        owner: ownerFields.describe("User or team that owns the team."),
        username: s.string().describe("Username of the team. Defaults to the name of the object."),
        users: s.list(s.string()).describe("Members of the team, by user name."),
        groups: s.list(s.string()).describe("Groups whose users are members of the team as well."),
        imagePullSecrets,
        clusterRoles: ignoredNames(
          "ClusterRoles of the team. Use role bindings, groups and projects to grant permissions.",
        ),
        access: s.list(accessRuleFields).describe("Additional access rules for the team. Stored, but has no effect."),
      })
      .describe("Desired state of the team."),
    status: s.anyObject().describe("Status of the team. Stored, but has no effect."),
  })
  .describe("A team: users with common permissions and access keys.");

export type Team = KindOf<typeof fields>;
export const teamSchema = kindSchema(fields.schema);
