// The fields of a user of the platform.

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { description, displayName, imagePullSecrets } from "./display-fields.ts";
import { ignoredInteger, ignoredNames, ignoredSecretRef, ignoredStringMap, ignoredStrings } from "./ignored-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";

const fields = s
  .object({
    spec: s
      .object({
        kind: s
          .string({ enum: ["Person", "Bot"] })
          .describe(
            "Person or Bot. A bot is a program: it has access keys or trust rules, and cannot sign in. Defaults to Person.",
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
                .describe("Subject of the user at the provider (sub, or the result of claimMappings.uid)."),
              groups: s
                .list(s.string())
                .describe("The user's groups at the provider. The server writes them at sign-in and refresh."),
            }),
          )
          .describe("Identities of the user at identity providers. Each subject of a provider belongs to one user."),
        icon: s.string().describe("URL of the user's picture."),
        allowedSourceRanges: s
          .list(s.string({ maxLength: 64 }))
          .describe(
            "IP addresses and networks, such as 10.20.0.0/16 or 2001:db8::/32, that requests of the user may come from, with whatever session, access key or kubeconfig. Unset: from anywhere.",
          ),
        disabled: s.boolean().describe("Whether the user is locked. All access keys of a locked user are refused."),
        imagePullSecrets,
        owner: ownerFields.describe("User or team that owns the user. Stored, but has no effect."),
        ssoGroups: ignoredStrings("Groups from single sign-on. Use spec.identities instead."),
        extraClaims: ignoredStringMap("Claims from single sign-on."),
        clusterRoles: ignoredNames(
          "ClusterRoles of the user. Use role bindings, groups and projects to grant permissions.",
        ),
        access: s.list(accessRuleFields).describe("Additional access rules for the user. Stored, but has no effect."),
        passwordRef: ignoredSecretRef("Reference to the password. This platform has no passwords."),
        codesRef: ignoredSecretRef("Reference to login codes."),
        tokenGeneration: ignoredInteger(
          "Counter that invalidates older sessions. Delete or disable access keys instead.",
        ),
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
