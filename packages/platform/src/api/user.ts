// The fields of a user of the platform.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { keptInteger, keptNames, keptSecretRef, keptStrings, keptTexts } from "./kept-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";
import { description, displayName, imagePullSecrets } from "./people-fields.ts";

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
        username: s.string().describe("Name to log in with. Absent: the name of the object."),
        email: s.string().describe("E-mail address."),
        subject: s
          .string()
          .describe(
            "The user name of the user's requests, which permissions are granted to. Absent: the name of the object.",
          ),
        groups: s.list(s.string()).describe("Groups that the user is in, which permissions are granted to."),
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
                .describe(
                  "Groups that the provider tells of, which the user is in. Written by the server at sign-in and refresh.",
                ),
            }),
          )
          .describe("By whom the user signs in. Each subject of a provider belongs to one user."),
        icon: s.string().describe("Address of a picture."),
        disabled: s
          .boolean()
          .describe("True: the user is locked. All keys of the user are refused until it is unlocked."),
        imagePullSecrets,
        owner: ownerFields.describe("Whom the user belongs to. Kept as it is, without effect."),
        ssoGroups: keptStrings("Groups that a single sign-on login told of. Those of spec.identities count."),
        extraClaims: keptTexts("Claims that a single sign-on login told of."),
        clusterRoles: keptNames("ClusterRoles of the user. Rights come from bindings, groups and projects."),
        access: s.list(accessRuleFields).describe("Who else may do what with the user. Kept as it is, without effect."),
        passwordRef: keptSecretRef("Where the password lies. There are no passwords here."),
        codesRef: keptSecretRef("Where codes for logging in lie."),
        tokenGeneration: keptInteger("Counts up to end sessions of older tokens. Delete or disable keys instead."),
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
