// The fields of a team: users that permissions are granted to together.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { keptNames } from "./kept-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";
import { description, displayName, imagePullSecrets } from "./people-fields.ts";

const fields = s
  .object({
    spec: s
      .object({
        displayName,
        description,
        owner: ownerFields.describe("Whom the team belongs to."),
        username: s.string().describe("Short name of the team. Absent: the name of the object."),
        users: s.list(s.string()).describe("Names of the users in the team."),
        groups: s.list(s.string()).describe("Groups whose users are in the team as well."),
        imagePullSecrets,
        clusterRoles: keptNames("ClusterRoles of the team. Rights come from bindings, groups and projects."),
        access: s.list(accessRuleFields).describe("Who else may do what with the team. Kept as it is, without effect."),
      })
      .describe("Who is in the team."),
    status: s.anyObject().describe("What others have written of the team. Kept as it is, without effect."),
  })
  .describe("Users that permissions are granted to together, and that share access keys.");

export type Team = KindOf<typeof fields>;
export const teamSchema = kindSchema(fields.schema);
