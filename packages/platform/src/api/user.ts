// The fields of a user of the platform.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { description, displayName, imagePullSecrets } from "./display-fields.ts";
import { keptInteger, keptNames, keptSecretRef, keptStrings, keptTexts } from "./kept-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";

const fields = s
  .object({
    spec: s
      .object({
        kind: s
          .string({ enum: ["Person", "Bot"] })
          .describe(
            "Whether it is a person or a bot. A bot is a program: it has access keys, or trust rules that give it some, and never signs in. Absent means Person.",
          ),
        displayName,
        description,
        username: s.string().describe("Username. Defaults to the name of the object."),
        email: s.string().describe("E-mail address."),
        subject: s.string().describe("User name for requests and role bindings. Defaults to the name of the object."),
        groups: s.list(s.string()).describe("Groups of the user, for requests and role bindings."),
        identities: s
          .list(
            s.object({
              provider: s.string().required().describe("Name of the identity provider."),
              subject: s
                .string()
                .required()
                .describe("The user's subject there (sub, or what the provider's claimMappings.uid gives)."),
              groups: s
                .list(s.string())
                .describe("The user's groups at the provider. The server writes them at sign-in and refresh."),
            }),
          )
          .describe("By whom the user signs in. Each subject of a provider belongs to one user."),
        icon: s.string().describe("URL of a picture."),
        disabled: s.boolean().describe("Whether the user is locked. All access keys of a locked user are refused."),
        imagePullSecrets,
        owner: ownerFields.describe("User or team that owns the user. Stored, but has no effect."),
        ssoGroups: keptStrings("Groups from single sign-on. Those of spec.identities count."),
        extraClaims: keptTexts("Claims from single sign-on."),
        clusterRoles: keptNames(
          "ClusterRoles of the user. Use role bindings, groups and projects to grant permissions.",
        ),
        access: s.list(accessRuleFields).describe("Additional access rules for the user. Stored, but has no effect."),
        passwordRef: keptSecretRef("Reference to the password. This platform has no passwords."),
        codesRef: keptSecretRef("Reference to login codes."),
        tokenGeneration: keptInteger("Counter that invalidates older sessions. Delete or disable access keys instead."),
      })
      .describe("Desired state of the user."),
    status: s
      .object({
        teams: s.list(s.string()).describe("Names of the teams that the user is in."),
        conditions: conditionsField,
      })
      .describe("Observed state. Read-only."),
  })
  .describe("A user: a person or a bot that can have access keys.");

export type User = KindOf<typeof fields>;
export const userSchema = kindSchema(fields.schema);
