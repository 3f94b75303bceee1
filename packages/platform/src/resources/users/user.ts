// The fields of a user of the platform.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "../conditions.ts";
import { description, displayName, imagePullSecrets } from "../people-fields.ts";

const fields = s
  .object({
    spec: s
      .object({
        displayName,
        description,
        username: s.string().describe("Name to log in with. Absent: the name of the object."),
        email: s.string().describe("E-mail address."),
        subject: s
          .string()
          .describe(
            "The user name of the user's requests, which permissions are granted to. Absent: the name of the object.",
          ),
        groups: s.list(s.string()).describe("Groups that the user is in, which permissions are granted to."),
        icon: s.string().describe("Address of a picture."),
        disabled: s
          .boolean()
          .describe("True: the user is locked. All keys of the user are refused until it is unlocked."),
        imagePullSecrets,
      })
      .describe("Who the user is."),
    status: s
      .object({
        teams: s.list(s.string()).describe("Names of the teams that the user is in."),
        conditions: conditionsField,
      })
      .describe("What follows from other objects. Read-only."),
  })
  .describe("Somebody who may have access keys.");

export type User = KindOf<typeof fields>;
export const userSchema = kindSchema(fields.schema);
