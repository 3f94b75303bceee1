// The fields of a team: users that permissions are granted to together.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { ownerFields } from "../owner.ts";
import { description, displayName, imagePullSecrets } from "../people-fields.ts";

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
      })
      .describe("Who is in the team."),
  })
  .describe("Users that permissions are granted to together, and that share access keys.");

export type Team = KindOf<typeof fields>;
export const teamSchema = kindSchema(fields.schema);
